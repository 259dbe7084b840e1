from collections.abc import Callable

import hiredis
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import capabilities
from collectors.capabilities import State, Support
from collectors.models import CommandSupport
from fleet.models import Cache, Node

CONFIG = ("CONFIG", "GET", "maxclients")
VERDICTS = {
    "OK": State.ALLOWED,
    "NOPERM User watcher has no permissions to run the 'config|get' command": State.REFUSED,
    "ERR unknown command `CONFIG`, with args beginning with: `GET`": State.REFUSED,
    "ERR unknown command 'config'": State.REFUSED,
    "ERR Unknown subcommand or wrong number of arguments for 'SHARDS'": State.REFUSED,
    "ERR Wrong CLUSTER subcommand or number of arguments": State.REFUSED,
    "ERR unknown subcommand 'SHARDS'. Try CLUSTER HELP.": State.REFUSED,
    "ERR unsupported command `CLUSTER`": State.REFUSED,
    "ERR This instance has cluster support disabled": State.REFUSED,
    "LOADING Redis is loading the dataset in memory": State.UNKNOWN,
    "BUSY Redis is busy running a script": State.UNKNOWN,
    "NOAUTH Authentication required.": State.UNKNOWN,
}


@pytest.fixture
def node(cache_at: Callable[..., Cache]) -> Node:
    return Node.objects.create(cache=cache_at("redis://10.0.0.1"), identity="n", host="10.0.0.1", port=6379)


@pytest.mark.parametrize("words", VERDICTS)
def test_it_tells_a_refusal_from_an_error_that_passes(words: str) -> None:
    reply = b"OK" if words == "OK" else hiredis.ReplyError(words)

    assert capabilities.verdict(reply) == VERDICTS[words]


def test_it_names_commands_without_their_arguments() -> None:
    named = [capabilities.name_of(command) for command in (CONFIG, ("INFO",), ("INFO", "commandstats"), ("PING", "x"))]

    # A proxy may know INFO and not its sections.
    assert named == ["CONFIG GET", "INFO", "INFO commandstats", "PING"]


def test_it_asks_no_more_after_a_refusal_until_it_is_time(settings: Settings) -> None:
    support = Support()
    support.note(CONFIG, hiredis.ReplyError("NOPERM no"))
    refused = support.is_refused(CONFIG)

    settings.COMMAND_RECHECK_SECONDS = 0

    assert refused
    assert not support.is_refused(CONFIG)


def test_it_does_not_forget_a_verdict_for_an_error_that_passes() -> None:
    support = Support()
    support.note(CONFIG, b"OK")
    support.news()

    support.note(CONFIG, hiredis.ReplyError("LOADING"))

    assert support.news() == {}
    assert not support.is_refused(CONFIG)


def test_it_remembers_over_restarts(node: Node) -> None:
    capabilities.store([(node.pk, {"CONFIG GET": (State.ALLOWED, "")})], timezone.now())
    capabilities.store([(node.pk, {"CONFIG GET": (State.REFUSED, "NOPERM")})], timezone.now())

    support = capabilities.load([node.pk])[node.pk]

    assert support.is_refused(CONFIG)
    assert CommandSupport.objects.get().reason == "NOPERM"


def test_it_writes_nothing_about_a_node_that_was_deleted(node: Node) -> None:
    capabilities.store([(node.pk + 1, {"INFO": (State.ALLOWED, "")})], timezone.now())

    assert not CommandSupport.objects.exists()
