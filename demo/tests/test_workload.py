import random
from itertools import pairwise

from demo.workload import (
    GAME_STEPS,
    PLAYERS,
    RANKED,
    SESSION_STEPS,
    Workload,
    game_data,
    profile,
    session_data,
    swing,
)

BOUNDED = (
    "counter:",
    "guild:",
    "inventory:",
    "matchmaking:",
    "online:",
    "ranking:",
    "rate_limit:",
    "session:",
    "token:",
)


def test_it_asks_about_as_much_as_the_hour_is_busy() -> None:
    workload = Workload(GAME_STEPS, random.Random(1))

    calm, busy = (sum(len(workload.requests(0.1, level)) for _ in range(300)) / 30 for level in (0.7, 1.4))

    assert 300 < calm < 600
    assert 1.8 < busy / calm < 2.2


def test_it_stays_within_a_fixed_key_space() -> None:
    rng = random.Random(2)
    requests = Workload(GAME_STEPS, rng).requests(60, 1) + Workload(SESSION_STEPS, rng).requests(60, 1)

    written = [request.fill or request.words for request in requests if request.fill or request.words[0] != "GET"]

    players = [int(str(key).split(":")[1]) for _, key, *_ in written if str(key).startswith("user_cache:")]
    ranked = [int(str(words[-1]).split(":")[1]) for words in written if words[0] == "ZADD"]
    assert max(players) <= PLAYERS
    assert max(ranked) < RANKED
    assert all(str(key).startswith((*BOUNDED, "user_cache:")) for _, key, *_ in written)


def test_it_gives_profiles_of_very_different_sizes() -> None:
    sizes = sorted(len(profile(player)) for player in range(PLAYERS))

    assert sizes[len(sizes) // 2] < 1_200
    assert 0.05 < sum(size > 1_200 for size in sizes) / PLAYERS < 0.15
    assert 20 < sum(size > 80_000 for size in sizes) < 50


def test_it_warms_a_cache_with_keys_of_all_lives() -> None:
    words = [request.words for request in (*game_data(random.Random(3)), *session_data(random.Random(3)))]

    lives = {int(row[row.index("EX") + 1]) for row in words if "EX" in row}

    assert min(lives) < 120
    assert max(lives) > 2_500
    assert any("EX" not in row for row in words)


def test_it_swings_gently_around_one() -> None:
    swings = [swing(now) for now in range(0, 86_400, 10)]

    assert 0.5 < min(swings) < 0.8
    assert 1.2 < max(swings) < 1.5
    assert max(abs(a - b) for a, b in pairwise(swings)) < 0.1
