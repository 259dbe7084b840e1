"""The keyspace of benches: the same each time, of every type, with giants in it."""

from collections import Counter
from itertools import islice

import pytest

from bench.keyspace import GIANTS, Keyspace, pack
from bench.report import Row, table
from bench.timing import turns


def head(seed: int, keys: int = 400) -> bytes:
    return b"".join(map(pack, islice(Keyspace(keys, seed).commands(), 600)))


def test_it_is_the_same_for_the_same_seed() -> None:
    assert head(3) == head(3)
    assert head(3) != head(4)


def test_it_has_keys_of_every_type_and_giants() -> None:
    commands = list(Keyspace(2_000 + GIANTS).commands())

    names = {str(words[1]) for words in commands}
    kinds = Counter(words[0] for words in commands)
    assert len(names) == 2_000 + GIANTS
    assert sum(name.startswith("archive:") for name in names) == GIANTS
    assert kinds.keys() == {"SET", "HSET", "ZADD", "SADD", "RPUSH", "XADD", "APPEND"}


def test_it_takes_turns_there_and_back() -> None:
    order: list[str] = []

    def act(name: str) -> int:
        order.append(name)
        return len(order)

    found = turns({"a": lambda: act("a"), "b": lambda: act("b")}, rounds=3)

    assert "".join(order) == "abbaab"
    assert found == {"a": [1, 4, 5], "b": [2, 3, 6]}


@pytest.mark.parametrize(("ours", "holds"), [(7.9, False), (8.0, True), (20.0, True)])
def test_a_bar_may_be_the_least_that_is_wanted(ours: float, holds: bool) -> None:
    row = Row("speed", "keys/s", ours, 1.0, bar=8, is_least=True)

    assert row.holds is holds
    assert ">= 8x" in table([row])[1]
