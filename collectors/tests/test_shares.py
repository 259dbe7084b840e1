"""How polls are cut into batches and given to workers, and what is kept of keys: for any fleet and any key."""

import pytest
from django.conf import settings as django_settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from collectors import dispatch, poll
from collectors.client_list import fields_of, idle_band, network_of, number_in, plus
from collectors.shapes import key_prefix, name_of, shape_of
from collectors.slow_entry import PREFIX_LIMIT

SIZED = st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 400)), max_size=30, unique_by=lambda one: one[0])
WORKERS = st.lists(st.text("abcdef@-0123456789", min_size=1, max_size=12), min_size=1, max_size=6, unique=True)


@given(SIZED)
@hypothesis_settings(max_examples=40, deadline=None)
def test_every_cache_is_in_one_batch_and_in_order(caches: list[tuple[int, int]]) -> None:
    made = list(dispatch.batches(caches))

    assert [pk for batch in made for pk in batch] == [pk for pk, _size in caches]
    assert all(made)


@given(SIZED)
@hypothesis_settings(max_examples=40, deadline=None)
def test_only_a_cache_alone_makes_a_batch_too_large(caches: list[tuple[int, int]]) -> None:
    sizes, limit = dict(caches), django_settings.POLL_BATCH_NODES

    made = list(dispatch.batches(caches))

    assert all(len(batch) == 1 or sum(sizes[pk] for pk in batch) <= limit for batch in made)


@given(SIZED, WORKERS)
@hypothesis_settings(max_examples=40, deadline=None)
def test_shares_add_up_to_the_fleet(caches: list[tuple[int, int]], workers: list[str]) -> None:
    found = dispatch.shares(caches, workers)

    assert sorted(one for share in found.values() for one in share) == sorted(caches)
    assert found.keys() <= {dispatch.queue_of(worker) for worker in workers}


@given(st.integers(1, 10**9), WORKERS)
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_order_of_workers_decides_nothing(cache_id: int, workers: list[str]) -> None:
    assert dispatch.worker_of(cache_id, workers) == dispatch.worker_of(cache_id, workers[::-1])


@pytest.mark.parametrize(("interval", "tick_seconds", "polls"), [(15, 5, 240), (1, 5, 720), (7, 5, 360), (120, 5, 30)])
def test_an_hour_has_its_polls(interval: int, tick_seconds: int, polls: int, settings: Settings) -> None:
    settings.POLL_TICK_SECONDS = tick_seconds

    ticks = range(1_800_000_000, 1_800_003_600, tick_seconds)

    assert sum(dispatch.is_due(interval, tick) for tick in ticks) == polls


@pytest.mark.parametrize(
    ("now", "tick"), [(100.0, 100), (104.999, 100), (105, 105), (2**33 + 4, 2**33 + 3), (1_774_746_000, 1_774_746_000)]
)
def test_a_tick_is_the_newest_point_of_the_grid(now: float, tick: int, settings: Settings) -> None:
    settings.POLL_TICK_SECONDS = 5

    assert poll.current_tick(now) == tick


@given(st.binary(max_size=300))
@hypothesis_settings(max_examples=60, deadline=None)
def test_any_key_becomes_a_short_printable_prefix(key: bytes) -> None:
    found = key_prefix(key)

    assert len(found) <= PREFIX_LIMIT
    assert found.isprintable()


@given(st.integers(10**5, 10**18), st.sampled_from([b"user:%d", b"user:%d:bag", b"{user%d}:bag", b"u|%d", b"v2/%d"]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_a_number_in_a_key_is_never_kept(number: int, pattern: bytes) -> None:
    assert str(number) not in key_prefix(pattern % number)


@given(st.uuids(), st.emails())
@hypothesis_settings(max_examples=25, deadline=None)
def test_neither_ids_nor_addresses_of_people_are_kept(identity: object, email: str) -> None:
    assert str(identity) not in key_prefix(f"session:{identity}".encode())
    assert email not in key_prefix(f"mail:{email}".encode())


@given(st.lists(st.one_of(st.binary(max_size=40), st.integers(), st.none()), max_size=40))
@hypothesis_settings(max_examples=60, deadline=None)
def test_any_logged_command_has_a_shape(words: list[object]) -> None:
    shape = shape_of(words)

    assert shape.arguments >= 0
    assert len(shape.command) <= 81
    assert shape.command.isprintable()


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (b"get", "GET"),
        (b"a" * 40, "A" * 40),
        (b"a" * 41, "?"),
        (b"1get", "?"),
        (b"", "?"),
        (b"g\xc3\xa9t", "?"),
        (b"get\n", "?"),
        (7, "?"),
    ],
)
def test_a_command_has_a_plain_name(word: object, name: str) -> None:
    assert name_of(word) == name


@pytest.mark.parametrize(
    ("seconds", "band"),
    [
        (None, ""),
        (0, "0-10 s"),
        (9, "0-10 s"),
        (10, "10-60 s"),
        (59, "10-60 s"),
        (60, "1-10 min"),
        (3_599, "10-60 min"),
        (86_399, "1-24 h"),
        (86_400, "1 d or more"),
        (10**15, "1 d or more"),
    ],
)
def test_idle_times_fall_into_bands(seconds: int | None, band: str) -> None:
    assert idle_band(seconds) == band


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.255:1", "10.0.0.0/24"),
        ("[2001:db8:1:2:3::4]:1", "2001:db8:1:2::/64"),
        ("[::ffff:10.1.2.3]:1", "10.1.2.0/24"),
        ("[fe80::1%eth0]:1", "fe80::/64"),
        ("/run/redis.sock:0", "unix socket"),
        ("?:0", "?"),
        ("", ""),
        ("10.0.0.256:1", "10.0.0.256"),
    ],
)
def test_an_address_is_in_a_network(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("total", "number", "found"), [(None, None, None), (None, 0, 0), (5, None, 5), (5, 0, 5), (2, 3, 5)]
)
def test_what_is_not_reported_is_not_zero(total: int | None, number: int | None, found: int | None) -> None:
    assert plus(total, number) == found


@pytest.mark.parametrize(
    ("value", "number"),
    [(b"0", 0), (b"9" * 15, 10**15 - 1), (b"9" * 16, None), (b"-1", None), (b"", None), (b"\xb2", None)],
)
def test_a_number_of_a_client_is_bounded(value: bytes, number: int | None) -> None:
    assert number_in({b"age": value}, b"age") == number


def test_a_client_cannot_forge_its_fields_by_its_name() -> None:
    found = fields_of(b"id=1 addr=10.0.0.1:5 name=x age=5 addr=6.6.6.6:1 age=999")

    assert (found[b"addr"], found[b"age"]) == (b"10.0.0.1:5", b"5")
