"""A number before a noun has a singular: nobody reads "1 keys"."""

import re

import pytest

from config import translations

NOUNS = (
    "bytes|caches|calls|characters|clients|commands|connections|copies|days|entries|errors|failures|hours|keys|labels"
    "|minutes|nodes|points|polls|replicas|samples|seconds|secrets|servers|shards|slots|steps|times|tokens|users|workers"
)
# Rates and ratios are no counts.
COUNTED = re.compile(
    rf"%(\((?!rate|ratio|level|commands)\w+\))?[sd](</b>)? ((?:more|new|full|free|slow|lighter) )?({NOUNS})\b"
)
# The number is never 1 there.
ALWAYS_SEVERAL = {
    "%(count)s nodes",
    "%(count)s times",
    "%(text)s, %(count)s times",
    "%(shards)s shards, %(nodes)s nodes",
    "%(count)s nodes restarted lately; the last, %(name)s, %(uptime)s ago",
    "%(name)s has %(count)s clients that wait in blocking calls",
    "over %(shown)s connections: read only when an operator asks for it",
    "Shard %(shard)s changed its primary %(count)s times, last to %(to)s",
    "%(count)d caches",
    "One of every %(every)s points is shown, of %(total)s in all; the CSV file has them all.",
    "%(name)s has %(more)s connections more than %(span)s ago, now %(now)s, but no more commands: a leak?",
    "%(name)s keeps %(more)s more keys without a time to live than %(span)s ago, now %(now)s",
    "%(prefix)s holds %(share)s of the memory: %(keys)s keys of %(mean)s on average; %(ttl)s",
    "It names %(count)d nodes or more; no more than these are watched.",
    "the heaviest holds %(factor)s times the mean",
    "%(count)s caches have no new samples: Shardwatch itself may be stuck, see its health page",
}
# Fixed limits, and points that are 10 at least.
OTHERS = ("limit", "ceiling", "up to", "points more than its siblings")


def without_singular() -> list[str]:
    return [
        message.text
        for message in translations.messages()
        if not message.plural
        and COUNTED.search(message.text)
        and message.text not in ALWAYS_SEVERAL
        and not any(part in message.text for part in OTHERS)
    ]


def test_it_has_a_singular_wherever_a_number_may_be_1() -> None:
    assert without_singular() == []


@pytest.mark.parametrize("text", ["%(count)s keys", "Found %d nodes", "<b>%(n)s</b> connections", "%s free slots"])
def test_it_finds_numbers_before_nouns(text: str) -> None:
    assert COUNTED.search(text)


@pytest.mark.parametrize("text", ["%(name)s restarted %(time)s ago", "keys: %(count)s", "runs %(rate)s commands"])
def test_it_leaves_other_texts_alone(text: str) -> None:
    assert not COUNTED.search(text)
