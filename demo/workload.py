"""What a game's backend asks of its caches: requests in realistic proportions over a fixed key space."""

import math
import random
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

Word = str | int | float
Draw = Callable[[random.Random], list["Request"]]

PLAYERS = 30_000
ACTIVE_PLAYERS = 4_000
BAGS = 6_000
GUILDS = 400
RANKED = 8_000
SESSIONS = 12_000
SEASONS = ("spring", "summer", "autumn")
REGIONS = ("tokyo", "osaka", "taipei", "seoul")
COUNTERS = ("battles", "gacha", "purchases", "logins", "chats", "raids")
# Each 800th player has a profile of about 100 kB: the odd hoarder that every studio has.
HOARDER_STEP = 800
MATCHMAKING_LIMIT = 60

FILLER = "".join(
    f'{{"item":{number},"level":{number * 7919 % 99},"got":"2026-{number % 12 + 1:02d}"}},' for number in range(2_500)
)


class Request(NamedTuple):
    """One command; `fill` is the command that follows where the answer is None, as caches aside are filled."""

    words: tuple[Word, ...]
    fill: tuple[Word, ...] | None = None

    @property
    def key(self) -> str:
        return str(self.words[1])


def swing(now: float) -> float:
    """Return how busy the game is at this moment, about 0.6 to 1.4: slow waves and a daily rhythm."""
    minutes, day = now / 60, now / 86_400
    waves = 0.18 * math.sin(math.tau * minutes / 7) + 0.08 * math.sin(math.tau * minutes / 1.7)
    return 1 + waves + 0.12 * math.sin(math.tau * day)


def text_of(number: int, size: int) -> str:
    start = number * 37 % 20_000
    return f'{{"id":{number},"name":"player {number}","items":[{FILLER[start : start + size]}'


def profile(player: int) -> str:
    """Return a player's profile: mostly 300 to 1,100 bytes, each tenth 2 to 6 kB, few about 100 kB."""
    if player % HOARDER_STEP == 0:
        return text_of(player, 90_000 + player % 9_000)
    if player % 10 == 0:
        return text_of(player, 2_000 + player * 13 % 4_000)
    return text_of(player, 300 + player * 31 % 800)


def kept_profile(player: int, rng: random.Random) -> tuple[Word, ...]:
    # Lives of one length would end together, and their misses come in waves.
    seconds = int((300 if player < ACTIVE_PLAYERS else 1_800) * rng.uniform(0.3, 1.7))
    return ("SET", f"user_cache:{player}", profile(player), "EX", seconds)


def any_player(rng: random.Random) -> int:
    return rng.randrange(ACTIVE_PLAYERS) if rng.random() < 0.7 else rng.randrange(ACTIVE_PLAYERS, PLAYERS)


def read_profile(rng: random.Random) -> list[Request]:
    player = any_player(rng)
    # The big profiles are asked for less often: they are old accounts.
    player += player % HOARDER_STEP == 0 and rng.random() < 0.8
    return [Request(("GET", f"user_cache:{player}"), kept_profile(player, rng))]


def read_stranger(rng: random.Random) -> list[Request]:
    """Look up a player who is in no cache: deleted accounts, probes."""
    return [Request(("GET", f"user_cache:{rng.randrange(10**6, 10**7)}"))]


def update_bag(rng: random.Random) -> list[Request]:
    key = f"inventory:{rng.randrange(BAGS)}"
    return [Request(("HINCRBY", key, f"item:{rng.randrange(24)}", 1)), Request(("HGET", key, "gold"))]


def read_bag(rng: random.Random) -> list[Request]:
    return [Request(("HGETALL", f"inventory:{rng.randrange(BAGS)}"))]


def score(rng: random.Random) -> list[Request]:
    key, member = f"ranking:{rng.choice(SEASONS)}", f"player:{rng.randrange(RANKED)}"
    return [Request(("ZADD", key, rng.randrange(100_000), member)), Request(("ZREVRANK", key, member))]


def read_ranking(rng: random.Random) -> list[Request]:
    return [Request(("ZREVRANGE", f"ranking:{rng.choice(SEASONS)}", 0, 19, "WITHSCORES"))]


def visit_guild(rng: random.Random) -> list[Request]:
    key = f"guild:{rng.randrange(GUILDS)}"
    return [Request(("HGETALL", key)), Request(("HINCRBY", key, "points", rng.randrange(20)))]


def match(rng: random.Random) -> list[Request]:
    key = f"matchmaking:{rng.choice(REGIONS)}"
    return [
        Request(("RPUSH", key, f"player:{rng.randrange(PLAYERS)}")),
        Request(("LPOP", key)),
        Request(("LTRIM", key, -MATCHMAKING_LIMIT, -1)),
    ]


def count(rng: random.Random) -> list[Request]:
    return [Request(("INCR", f"counter:{rng.choice(COUNTERS)}"))]


def limit_rate(rng: random.Random) -> list[Request]:
    key = f"rate_limit:{rng.randrange(ACTIVE_PLAYERS)}"
    return [Request(("SET", key, 0, "EX", 20, "NX")), Request(("INCR", key))]


def read_session(rng: random.Random) -> list[Request]:
    number = rng.randrange(SESSIONS)
    return [Request(("GETEX", f"session:{number}", "EX", 3_600), kept_session(number))]


def kept_session(number: int) -> tuple[Word, ...]:
    return ("SET", f"session:{number}", text_of(number, 500 + number * 17 % 700), "EX", 3_600)


def sign_out(rng: random.Random) -> list[Request]:
    return [Request(("DEL", f"session:{rng.randrange(SESSIONS)}"))]


def use_once(rng: random.Random) -> list[Request]:
    """Check a one-time token: written with a short life, read back, left to expire."""
    key = f"token:{rng.randrange(10**6)}"
    return [Request(("SET", key, "1", "EX", 30)), Request(("EXISTS", key))]


def count_players(rng: random.Random) -> list[Request]:
    return [Request(("INCR", f"online:{rng.choice(REGIONS)}"))]


# Steps a second in a calm hour, one row an activity.
GAME_STEPS: tuple[tuple[Draw, float], ...] = (
    (read_profile, 330),
    (read_stranger, 22),
    (update_bag, 34),
    (read_bag, 40),
    (score, 18),
    (read_ranking, 8),
    (visit_guild, 12),
    (match, 8),
    (count, 25),
    (limit_rate, 14),
)
SESSION_STEPS: tuple[tuple[Draw, float], ...] = (
    (read_session, 170),
    (sign_out, 18),
    (use_once, 14),
    (count_players, 12),
)


class Workload:
    """The stream of requests to one cache."""

    def __init__(self, steps: tuple[tuple[Draw, float], ...], rng: random.Random) -> None:
        self.rng = rng
        self.draws = [draw for draw, _ in steps]
        self.weights = [weight for _, weight in steps]
        self.steps_per_second = sum(self.weights)

    def requests(self, seconds: float, busy: float) -> list[Request]:
        """Return what is asked within a span of time, `busy` times what a calm hour brings."""
        wanted = self.steps_per_second * seconds * busy * self.rng.uniform(0.8, 1.2)
        steps = int(wanted) + (self.rng.random() < wanted % 1)
        drawn = self.rng.choices(self.draws, self.weights, k=steps)
        return list(chain.from_iterable(draw(self.rng) for draw in drawn))


def game_data(rng: random.Random) -> Iterator[Request]:
    """Return what a warm game cache holds; keys that exist keep their value and their life."""
    for season in SEASONS:
        for first in range(0, RANKED, 100):
            pairs: list[Word] = [
                word for n in range(first, first + 100) for word in (rng.randrange(100_000), f"player:{n}")
            ]
            yield Request(("ZADD", f"ranking:{season}", "NX", *pairs))
    for guild in range(GUILDS):
        fields: list[Word] = [word for n in range(20 + guild % 40) for word in (f"member:{n}", guild * 60 + n)]
        yield Request(("HSET", f"guild:{guild}", "name", f"guild {guild}", *fields))
    for bag in range(BAGS):
        items: list[Word] = [word for n in range(24) for word in (f"item:{n}", n * bag % 50)]
        yield Request(("HSET", f"inventory:{bag}", "gold", bag * 31, *items))
    for player in range(PLAYERS):
        yield Request((*kept_profile(player, rng), "NX"))


def session_data(rng: random.Random) -> Iterator[Request]:
    """Return what a warm session store holds."""
    for number in range(SESSIONS):
        yield Request((*kept_session(number), "NX"))
