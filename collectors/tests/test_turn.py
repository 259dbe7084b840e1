"""Turns to look at a cache: one at a time, not again at once, and never held by the dead."""

from datetime import timedelta

import pytest
from django.utils import timezone

from collectors.models import ClientTurn, HotKeyTurn
from collectors.tests.cast import cache_with_nodes
from collectors.turn import PAUSE, Turn

pytestmark = pytest.mark.django_db
SECONDS = 30


def take(kind: type[Turn], cache_id: int) -> bool:
    with kind.taken(cache_id, SECONDS) as is_ours:
        return is_ours


def test_one_has_the_turn_at_a_time() -> None:
    cache = cache_with_nodes()

    with ClientTurn.taken(cache.pk, SECONDS) as is_ours:
        assert (is_ours, take(ClientTurn, cache.pk)) == (True, False)


def test_turns_of_other_caches_and_kinds_are_others() -> None:
    cache, other = cache_with_nodes(), cache_with_nodes(name="other")

    with ClientTurn.taken(cache.pk, SECONDS):
        assert take(ClientTurn, other.pk)
        assert take(HotKeyTurn, cache.pk)


def test_it_is_free_again_some_seconds_after_it_began() -> None:
    cache = cache_with_nodes()
    assert [take(ClientTurn, cache.pk), take(ClientTurn, cache.pk)] == [True, False]

    ClientTurn.objects.update(begun_at=timezone.now() - PAUSE - timedelta(seconds=1))

    assert take(ClientTurn, cache.pk)


def test_a_failure_gives_the_turn_back() -> None:
    cache = cache_with_nodes()

    with pytest.raises(RuntimeError), ClientTurn.taken(cache.pk, SECONDS):
        raise RuntimeError

    assert ClientTurn.objects.get().ended_at


@pytest.mark.parametrize(("age", "is_lost"), [(2 * SECONDS - 5, False), (2 * SECONDS + 1, True)])
def test_whoever_does_not_end_is_lost_some_day(age: int, is_lost: bool) -> None:
    cache = cache_with_nodes()
    ClientTurn.objects.create(cache=cache, begun_at=timezone.now() - timedelta(seconds=age))

    assert take(ClientTurn, cache.pk) is is_lost


def test_who_was_refused_ends_nobody_elses_turn() -> None:
    cache = cache_with_nodes()

    with ClientTurn.taken(cache.pk, SECONDS):
        take(ClientTurn, cache.pk)

        assert ClientTurn.objects.get().ended_at is None
