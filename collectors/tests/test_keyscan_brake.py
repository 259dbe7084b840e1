"""The pace of a scan: how long slices get, and the pauses between them."""

from itertools import pairwise

import pytest

from collectors.keyscan.brake import BRISK, FAST, GENTLE, MAX_KEYS, MIN_KEYS, Brake, Pace, interval


def settled(pace: Pace, seconds_a_key: float, slices: int = 40) -> Pace:
    """Let a server of constant speed answer some slices."""
    for _ in range(slices):
        if pause := pace.took(pace.keys * seconds_a_key):
            pace.slept(pause)
    return pace


@pytest.mark.parametrize(("usec_a_key", "keys"), [(1, 120), (3, 40), (6, 20)])
def test_it_finds_the_slice_that_takes_the_time_it_may(usec_a_key: float, keys: int) -> None:
    assert settled(Pace(GENTLE), usec_a_key / 1e6).keys == pytest.approx(keys, rel=0.1)


@pytest.mark.parametrize(("usec_a_key", "keys"), [(0.01, MAX_KEYS), (1_000, MIN_KEYS)])
def test_it_keeps_slices_within_bounds(usec_a_key: float, keys: int) -> None:
    assert settled(Pace(GENTLE), usec_a_key / 1e6).keys == keys


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_it_works_for_its_share_of_the_time(share: float) -> None:
    pace, worked, paused = Pace(Brake("test", keys=50, share=share)), 0.0, 0.0

    for _ in range(2_000):
        worked += 0.0002
        if pause := pace.took(0.0002):
            paused += pause
            pace.slept(pause)

    assert worked / (worked + paused) == pytest.approx(share, rel=0.05)


def test_it_saves_up_pauses_too_short_for_a_timer() -> None:
    pace = Pace(Brake("test", keys=10, share=0.5))

    pauses = [pace.took(0.0003) for _ in range(4)]

    assert pauses[:3] == [0.0, 0.0, 0.0]
    assert pauses[3] == pytest.approx(0.0012)


def test_it_makes_up_for_a_timer_that_woke_late() -> None:
    pace = Pace(Brake("test", keys=10, share=0.25))
    pace.slept(pace.took(0.001) + 0.002)

    assert pace.took(0.0005) == 0.0


def test_it_does_not_count_the_way_there_and_back_as_the_servers_time() -> None:
    pace = Pace(GENTLE)
    pace.base_seconds = 0.01

    settled(pace, 0, slices=0)
    for _ in range(40):
        pace.took(0.01 + pace.keys * 4e-6)

    # A tenth of the round trip is the least that is taken for work.
    assert pace.keys < 50


@pytest.mark.parametrize("brake", [BRISK, FAST])
def test_it_does_not_pause_without_a_share(brake: Brake) -> None:
    assert {Pace(brake).took(0.01) for _ in range(100)} == {0.0}


def test_it_sleeps_once_for_a_hundred_scans_as_redis_cli_does() -> None:
    pace = Pace(interval(1.5))

    pauses = [pace.took(0.0001) for _ in range(300)]

    assert [number for number, pause in enumerate(pauses, start=1) if pause] == [100, 200, 300]
    assert pauses[99] == 1.5
    assert pace.keys == 10


def test_it_counts_only_scans_for_the_interval() -> None:
    pace = Pace(interval(1.0))

    assert {pace.took(0.0001, adapt=False) for _ in range(300)} == {0.0}


def test_it_eases_off_by_half_and_comes_back_in_steps() -> None:
    pace = Pace(FAST)

    pace.ease_off()
    eased = [pace.ease]
    while pace.ease < 1:
        pace.recover()
        eased.append(pace.ease)

    assert (eased[0], eased[-1]) == (0.5, 1.0)
    assert all(low < high for low, high in pairwise(eased))


def test_it_streams_only_at_full_speed() -> None:
    pace = Pace(FAST)
    assert pace.streams

    pace.ease_off()

    assert not pace.streams
    assert pace.took(0.01) > 0


def test_it_never_comes_to_a_halt() -> None:
    pace = Pace(GENTLE)

    for _ in range(100):
        pace.ease_off()

    assert pace.ease > 0


def test_it_does_not_pause_for_what_waited_for_others() -> None:
    pace = Pace(GENTLE)

    # 50 ms that the machine took away.
    assert pace.took(0.05) < 0.002


@pytest.mark.parametrize(("brake", "unbraked"), [(FAST, True), (BRISK, False), (GENTLE, False)])
def test_it_knows_whether_anything_holds_it_back(brake: Brake, unbraked: bool) -> None:
    assert Pace(brake).is_unbraked is unbraked
