"""The API under thousands of made-up requests: no 5xx, and no answer that its document does not foretell.

Requests come from the document itself, fitting and unfitting ones, always the same for the same code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import time, timedelta
from typing import Any, TypeAlias

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, Verbosity, given, seed
from hypothesis import settings as trials
from hypothesis import strategies as some
from schemathesis import checks
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation

from accounts.models import ApiToken, Role
from accounts.tests.cast import bearer_of
from alerts.models import Attempt, Channel
from alerts.silence import Silence
from alerts.tests.cast import channel, opened
from alerts.tests.judged import rule
from alerts.window import Window
from collectors import tallies
from collectors.models import ClientReading, CommandSupport, NodeStatus, SlowEntry
from collectors.tallies import COMMAND, ERROR, NodeTallies, Tally
from collectors.tests.cast import cache_with_nodes
from config.wsgi import application
from dashboard.tests.project_cast import instance, project
from dashboard.tests.scan_cast import stored, usual_keys
from dashboard.tests.test_events import told_failover
from dashboard.tests.test_fleet import sampled
from fleet.addresses import AddressError, parse_addresses
from fleet.models import Cache
from switches import changing, run_book_steps
from switches.changing import Why
from switches.models import ClientKey, Plan, Proposal
from switches.tests.cast import operator

pytestmark = pytest.mark.django_db
EXAMPLES, SEED = 12, 20_261_121
Case: TypeAlias = "schemathesis.Case[Any]"
Operation: TypeAlias = "APIOperation[Any, Any, Any, Any]"
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
# The client reads nothing that is compressed.
PLAIN = {"Accept-Encoding": "identity"}
# Nothing listens there: what is made up must reach nobody.
NOWHERE = "redis://127.0.0.1:1"
NO_MYSQL = "mysql://u@127.0.0.1:1"
DOCUMENT = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
FOUND = list(DOCUMENT.get_all_operations())
OPERATIONS = {one.ok().label: one.ok() for one in FOUND if isinstance(one, Ok)}


@pytest.fixture(autouse=True)
def one_connection() -> Iterator[None]:
    """Keep the connection of the test's transaction, which every request would close."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def no_google(settings: Any) -> None:
    """Have tests of projects ask a port where nothing listens, once."""
    settings.GOOGLE_ENDPOINT = "127.0.0.1:1"
    settings.CLOUD_RETRY_SECONDS = 0.001


@pytest.fixture
def known() -> dict[str, Any]:
    """Fill the database with something of every kind; return what the parameters of paths may name."""
    cache = cache_with_nodes(1, 1)
    cache.nodes.update(host="127.0.0.1", port=1)
    sampled(cache, used_memory=99, maxmemory=100, total_commands_processed=5, latest_fork_usec=2_000_000)
    now = timezone.now()
    primary, replica = cache.nodes.order_by("pk")
    NodeStatus.objects.create(node=replica, failing_since=now - timedelta(minutes=3), failed_step="ping")
    CommandSupport.objects.create(node=primary, command="CONFIG GET", state="refused", reason="NOPERM no")
    SlowEntry.objects.create(
        node=primary, log="slow", entry_id=1, started_at=now, amount=9, command="GET", arguments=1, key_prefix="a:*"
    )
    groups = {"name": [["worker", 5, 1, 1, 1, 1], [None, 1, 1, 1, 1, None]], "user": [["default", 6, 1, 1, 1, 1]]}
    ClientReading.objects.create(node=primary, read_at=now, connections=6, groups=groups)
    minute = now.replace(microsecond=0) - timedelta(minutes=2)
    tallies.write([NodeTallies(primary.pk, minute, 60, kind, {"get": Tally(9, 90)}) for kind in (COMMAND, ERROR)])
    event = told_failover(cache)
    token, _text = ApiToken.issue(event_owner(), "spare")
    numbers = {"event_id": event.pk, "token_id": token.pk, "channel_id": told_channel().pk, "incident_id": opened().pk}
    numbers |= switch_numbers(cache)
    numbers |= {"silence_id": silence().pk, "window_id": window().pk, "pk": stored(cache, usual_keys()).pk}
    found = instance(project())
    numbers["instance_id"] = found.pk
    names = {"project_id": found.project.project_id, "switch_key": "user-cache", "act": "confirm"}
    return {"name": cache.name, "key": rule().key, **names, **numbers}


def switch_numbers(cache: Cache) -> dict[str, int]:
    """Return what belongs to a switch that is off and has everything."""
    ann, why = operator(), Why("sick")
    off = changing.turn_off(changing.create(ann, "user-cache", {"cache_now": cache}, Why("new")), ann, why)
    usual = {"switch": off, "percent": 10, "reason": "well", "author": "ann", "revision": 2}
    key, _text = ClientKey.issue("shop", [], "ann")
    plan = Plan.objects.create(**usual, starts_at=timezone.now() + timedelta(days=1))
    proposal = Proposal.objects.create(**usual)
    run_book_steps.begin(off, ann, None, why, 60)
    return {"client_key_id": key.pk, "plan_id": plan.pk, "proposal_id": proposal.pk}


def silence() -> Silence:
    times = {"starts_at": timezone.now(), "ends_at": timezone.now() + timedelta(hours=1)}
    return Silence.objects.create(matchers=["cache=game"], author="ann", comment="planned", **times)


def window() -> Window:
    times: dict[str, Any] = {"starts": time(2), "ends": time(4), "until": timezone.now() + timedelta(days=30)}
    return Window.objects.create(matchers=["cache=game"], author="ann", weekdays=[0, 6], zone="Europe/Berlin", **times)


def told_channel() -> Channel:
    """Return a channel with a message and an attempt."""
    made = channel()
    incident = opened(made)
    Attempt.objects.create(
        delivery=incident.deliveries.get(), channel=made, number=1, at=timezone.now(), result="retry", cause="refused"
    )
    return made


def event_owner() -> Any:
    bearer_of(Role.ADMIN)
    return ApiToken.objects.get().user


def subject(label: str) -> str:
    """Return what an operation is about: `caches` for "GET /api/v1/caches/{name}"."""
    return label.partition("/api/v1/")[2].partition("/")[0]


@pytest.mark.parametrize("about", sorted(set(map(subject, OPERATIONS))))
def test_it_answers_as_documented(about: str, known: dict[str, Any], subtests: pytest.Subtests) -> None:
    headers = bearer_of(Role.ADMIN) | PLAIN
    for label, operation in OPERATIONS.items():
        if subject(label) == about:
            with subtests.test(label):
                ask_often(operation, known, headers)


def ask_often(operation: Operation, known: dict[str, Any], headers: dict[str, str]) -> None:
    """Ask as the seed decides; what a request changes is undone behind it."""

    @seed(SEED)
    @trials(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(requests_of(operation, known))
    def ask(case: Case) -> None:
        reach_nobody(case)
        with transaction.atomic():
            case.call_and_validate(headers=headers, checks=CHECKS)
            transaction.set_rollback(True)

    ask()


def requests_of(operation: Operation, known: dict[str, Any]) -> some.SearchStrategy[Case]:
    """Return fitting requests for what is there, and others that fit nothing."""
    named = {parameter.name: known[parameter.name] for parameter in operation.path_parameters}
    fitting = operation.as_strategy(GenerationMode.POSITIVE, path_parameters=named)
    return fitting | operation.as_strategy(GenerationMode.POSITIVE) | operation.as_strategy(GenerationMode.NEGATIVE)


def reach_nobody(case: Case) -> None:
    """Put an address where nothing listens in the place of each that would be called."""
    if isinstance(case.body, dict) and isinstance(case.body.get("mysql_dsn"), str):
        case.body["mysql_dsn"] = case.body["mysql_dsn"] and NO_MYSQL
    address = case.body.get("address") if isinstance(case.body, dict) else None
    if isinstance(address, str) and isinstance(case.body, dict):
        with suppress(AddressError):
            parse_addresses(address)
            case.body["address"] = NOWHERE


def test_it_can_read_the_whole_document() -> None:
    assert len(OPERATIONS) == len(FOUND) >= 30
