"""Who polls which cache: races are settled by the database."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import leases
from collectors.leases import Outcome
from collectors.models import PollLease
from fleet.models import Cache

pytestmark = pytest.mark.django_db
TICK = 1_800_000_000


@pytest.fixture
def ids() -> list[int]:
    """Two caches whose leases were free for a minute."""
    caches = [Cache.objects.create(name=name, address="redis://a") for name in ("one", "two")]
    leases.make_missing([cache.pk for cache in caches])
    free()
    return [cache.pk for cache in caches]


def free() -> None:
    # The transaction's clock stands still, as a test is one transaction.
    PollLease.objects.update(until=timezone.now() - timedelta(minutes=1))


def claimed(ids: list[int], tick: int = TICK, worker: str = "a") -> list[int]:
    return sorted(claim.cache_id for claim in leases.claim(ids, tick, worker))


def outcome(cache_id: int, **fields: float) -> Outcome:
    given = {"seconds": 0.5, "is_late": False, "commands": 3, "connections": 2, "saw_topology": False} | fields
    return Outcome(cache_id, **given)  # type: ignore[arg-type]


def test_a_lease_that_is_held_is_given_to_nobody_else(ids: list[int]) -> None:
    assert claimed(ids[:1]) == ids[:1]

    assert claimed(ids, worker="b") == ids[1:]


def test_a_tick_is_polled_once_though_it_was_sent_twice(ids: list[int]) -> None:
    claimed(ids)
    leases.release([outcome(pk) for pk in ids], TICK, "a")
    free()

    assert claimed(ids) == []
    assert claimed(ids, TICK + 5) == ids


def test_after_a_clock_was_set_back_earlier_ticks_are_new(ids: list[int]) -> None:
    claimed(ids)
    free()

    assert claimed(ids, TICK - 3_600) == ids


def test_a_lease_that_ran_out_is_taken_over(ids: list[int]) -> None:
    claimed(ids, worker="killed")
    free()

    assert claimed(ids, TICK + 15, worker="b") == ids
    assert {lease.worker for lease in PollLease.objects.all()} == {"b"}


def test_a_poll_that_is_still_under_way_counts_as_skipped(ids: list[int]) -> None:
    claimed(ids)

    claimed(ids, TICK + 5, worker="b")
    claimed(ids, TICK, worker="b")

    assert [lease.skipped for lease in PollLease.objects.all()] == [1, 1]


def test_what_the_poll_came_to_is_written_down(ids: list[int]) -> None:
    claimed(ids)

    leases.release([outcome(ids[0], is_late=True), outcome(ids[1], saw_topology=True)], TICK, "a")

    first, second = PollLease.objects.order_by("cache_id")
    assert (first.polls, first.late, first.commands, first.connections) == (1, 1, 3, 2)
    assert (first.topology_at is None, second.topology_at is None, second.late) == (True, False, 0)


@pytest.mark.parametrize(("tick", "worker"), [(TICK, "b"), (TICK + 5, "a"), (TICK - 5, "a")])
def test_nobody_gives_back_what_another_one_holds(tick: int, worker: str, ids: list[int]) -> None:
    claimed(ids)

    leases.release([outcome(pk) for pk in ids], tick, worker)

    assert [lease.polls for lease in PollLease.objects.all()] == [0, 0]
    assert all(lease.until > timezone.now() for lease in PollLease.objects.all())


def test_the_moment_of_the_last_layout_is_kept_when_the_next_poll_sees_none(ids: list[int]) -> None:
    claimed(ids)
    leases.release([outcome(pk, saw_topology=True) for pk in ids], TICK, "a")
    free()

    (claim, _other) = leases.claim(ids, TICK + 5, "a")
    leases.release([outcome(pk) for pk in ids], TICK + 5, "a")

    assert claim.topology_at is not None
    assert all(lease.topology_at for lease in PollLease.objects.all())


def test_leases_are_made_once_and_for_caches_that_exist(ids: list[int]) -> None:
    leases.make_missing([*ids, 10**9])

    assert PollLease.objects.count() == 2


def test_nothing_is_claimed_or_given_back_of_nothing(ids: list[int]) -> None:
    leases.release([], TICK, "a")

    assert leases.claim([], TICK, "a") == []


def test_a_lease_outlasts_the_longest_poll(ids: list[int], settings: Settings) -> None:
    settings.POLL_CONNECT_TIMEOUT_SECONDS, settings.POLL_COMMAND_TIMEOUT_SECONDS = 30, 40

    claimed(ids)

    assert leases.poll_limit_seconds() == 71
    assert PollLease.objects.get(pk=ids[0]).until > timezone.now() + timedelta(seconds=71)
