"""Whether Shardwatch does its work: what /readyz and the health page tell. Watched servers play no part."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _
from kombu.connection import Connection

TIMEOUT_SECONDS = 2
# One trip, on the database's clock. Caches younger than the limit have not had their turn yet.
SIGNS = """
    SELECT now(), (SELECT at FROM collectors_beat WHERE id = 1), (SELECT at FROM collectors_beat WHERE id = 2),
           (SELECT min(started_at) FROM collectors_pollworker),
           (SELECT count(*) FROM collectors_pollworker WHERE seen_at > now() - make_interval(secs => %s)),
           (SELECT max(finished_at) FROM collectors_polllease),
           (SELECT min(poll_interval_seconds) FROM fleet_cache WHERE NOT is_paused AND reach = 'nodes'),
           (SELECT min(created_at) FROM fleet_cache WHERE NOT is_paused AND reach = 'nodes')
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One part that must work, with a sentence that says whether it does."""

    name: str
    ok: bool
    sentence: str
    # Otherwise nobody has set it up, so that there is nothing to fail.
    is_used: bool = True


@dataclass(frozen=True, slots=True)
class Signs:
    """What the database knows of the other processes; times are the database's."""

    now: datetime
    beat_at: datetime | None
    worker_at: datetime | None
    started_at: datetime | None
    poll_workers: int
    polled_at: datetime | None
    shortest_interval: int | None
    first_cache_at: datetime | None


def checks() -> list[Check]:
    """Return all checks; what cannot be known because the database is away is left out."""
    return [*database_checks(), broker_check()]


def database_checks() -> Iterator[Check]:
    try:
        signs = read_signs()
    # Whatever keeps the database from answering, the sentence is the same.
    except Exception:
        yield Check("database", False, _("The database does not answer."))
        return
    yield Check("database", True, _("The database answers."))
    yield beat_check(signs)
    yield poll_worker_check(signs)
    yield worker_check(signs)
    yield poll_check(signs)


def read_signs(database: BaseDatabaseWrapper = connection) -> Signs:
    """Ask on a connection of its own, which gives up after seconds where a request's would wait for ever."""
    parameters: dict[str, Any] = database.get_connection_params()
    options = f"{parameters.get('options', '')} -c statement_timeout={TIMEOUT_SECONDS * 1000}"
    fresh = database.get_new_connection({**parameters, "connect_timeout": TIMEOUT_SECONDS, "options": options})
    try:
        return Signs(*fresh.execute(SIGNS, [settings.POLL_WORKER_LOST_SECONDS]).fetchone())
    finally:
        fresh.close()


def beat_check(signs: Signs) -> Check:
    if signs.beat_at is None:
        return Check("beat", False, _("The scheduler (beat) has not run yet."))
    if signs.now - signs.beat_at > timedelta(seconds=settings.READY_BEAT_SECONDS):
        sentence = _("The scheduler (beat) last reached a poll worker at %(at)s.")
        return Check("beat", False, sentence % {"at": clock(signs.beat_at)})
    return Check("beat", True, _("The scheduler (beat) is running."))


def worker_check(signs: Signs) -> Check:
    """Tell whether the worker that rolls up had its turn lately; one that has just started gets time for it."""
    limit = timedelta(seconds=3 * settings.ROLLUP_INTERVAL_SECONDS + settings.READY_BEAT_SECONDS)
    newest = max(filter(None, (signs.worker_at, signs.started_at)), default=signs.now)
    if signs.now - newest <= limit:
        return Check("worker", True, _("The worker is running."))
    return Check(
        "worker", False, _("The worker, which rolls up samples, has done nothing since %(at)s.") % {"at": clock(newest)}
    )


def poll_worker_check(signs: Signs) -> Check:
    if not signs.poll_workers:
        return Check("poll worker", False, _("No poll worker is running."))
    return Check("poll worker", True, _("Poll workers running: %(count)d.") % {"count": signs.poll_workers})


def poll_check(signs: Signs) -> Check:
    """Tell whether any poll ended lately, well or badly: a dead cache ends its polls too."""
    if signs.shortest_interval is None or signs.first_cache_at is None:
        return Check("polls", True, _("There is no cache to poll."))
    limit = timedelta(seconds=max(settings.READY_POLL_SECONDS, 2 * signs.shortest_interval))
    newest = max(filter(None, (signs.polled_at, signs.first_cache_at)))
    if signs.now - newest <= limit:
        return Check("polls", True, _("Polling is running."))
    if signs.polled_at is None:
        return Check("polls", False, _("No poll has finished yet."))
    return Check("polls", False, _("The last poll finished at %(at)s.") % {"at": clock(signs.polled_at)})


def broker_check() -> Check:
    limits = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    try:
        url, patience = settings.CELERY_BROKER_URL, TIMEOUT_SECONDS
        with Connection(url, connect_timeout=patience, transport_options=limits) as broker:  # type: ignore[no-untyped-call]
            broker.ensure_connection(max_retries=0, timeout=TIMEOUT_SECONDS)
    # Each transport has errors of its own; none of them may hold a password up to a visitor.
    except Exception:
        return Check("broker", False, _("The message broker does not answer."))
    return Check("broker", True, _("The message broker answers."))


def clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
