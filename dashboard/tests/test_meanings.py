"""Sentences about error replies, latency events and commands, in both languages."""

import re
from collections.abc import Iterator

import pytest
from django.utils import translation

from dashboard import command_advice, error_words, latency_words
from dashboard.command_advice import ADVICE, BIG_USEC, LONG_USEC, Advice, advice_for
from dashboard.commands import CommandRow
from dashboard.error_words import MEANINGS, OWN, meaning_of

KANA = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def sentences() -> Iterator[tuple[str, object]]:
    for name, meaning in {**MEANINGS, "own": OWN}.items():
        yield name, meaning.sentence
        if name != "other":
            yield f"{name}, what to do", meaning.action
    yield from latency_words.MEANINGS.items()
    yield "another event", latency_words.OTHER
    yield from ((name, advice.sentence) for name, advice in ADVICE.items())


def row(name: str, calls: float | None = 10.0, usec: float | None = None, p99: float | None = None) -> CommandRow:
    return CommandRow(name, calls, None, None, usec, None, None, None, p99, None, "mean")


SENTENCES = dict(sentences())


@pytest.mark.parametrize("name", SENTENCES)
def test_each_is_a_whole_sentence_without_markup(name: str) -> None:
    words = str(SENTENCES[name])

    assert words[0].isupper()
    assert words.endswith(".")
    assert "<" not in words


@pytest.mark.parametrize("name", SENTENCES)
def test_each_is_japanese_for_japanese_readers(name: str) -> None:
    with translation.override("ja"):
        words = str(SENTENCES[name])

    assert KANA.search(words)
    assert words.endswith("。")


@pytest.mark.parametrize("name", ["MYSCRIPT", "", "err", "<script>", "OOM ", "x" * 10_000])
def test_a_word_that_no_server_uses_comes_from_an_application(name: str) -> None:
    assert meaning_of(name) is OWN


@pytest.mark.parametrize("name", ["MOVED", "ASK", "TRYAGAIN", "LOADING", "NOSCRIPT", "BUSYGROUP", "NOTBUSY"])
def test_it_calls_usual_what_ends_by_itself(name: str) -> None:
    assert meaning_of(name).is_usual


@pytest.mark.parametrize("name", ["OOM", "READONLY", "NOAUTH", "WRONGPASS", "CLUSTERDOWN", "MISCONF", "ERR"])
def test_it_never_calls_usual_what_harms(name: str) -> None:
    assert not meaning_of(name).is_usual


@pytest.mark.parametrize("event", ["nothing", "", "<b>", "COMMAND", "fork\n"])
def test_an_unknown_event_is_another_part_of_the_server(event: str) -> None:
    assert latency_words.meaning_of(event) == latency_words.OTHER


@pytest.mark.parametrize(
    ("usec", "p99", "is_told"),
    [
        (None, None, False),
        (BIG_USEC - 0.1, None, False),
        (BIG_USEC, None, True),
        (1.0, BIG_USEC, True),
        (BIG_USEC, 1.0, True),
    ],
)
def test_what_is_cheap_on_small_keys_is_named_only_when_slow(
    usec: float | None, p99: float | None, is_told: bool
) -> None:
    assert bool(advice_for(row("hgetall", usec=usec, p99=p99))) == is_told


@pytest.mark.parametrize(("usec", "is_told"), [(LONG_USEC - 1, False), (LONG_USEC, True)])
def test_a_script_may_take_longer_than_a_command(usec: float, is_told: bool) -> None:
    assert bool(advice_for(row("evalsha", usec=usec))) == is_told


@pytest.mark.parametrize(("calls", "is_told"), [(None, False), (0.0, False), (0.5, False), (0.51, True)])
@pytest.mark.parametrize("name", command_advice.LAYOUT_COMMANDS)
def test_asking_for_the_layout_now_and_then_is_fine(name: str, calls: float | None, is_told: bool) -> None:
    assert bool(advice_for(row(name, calls=calls))) == is_told


@pytest.mark.parametrize("name", ["keys", "flushall", "save", "monitor", "debug", "sort"])
def test_what_stops_everybody_is_named_at_once(name: str) -> None:
    assert advice_for(row(name, calls=0.001))
    assert advice_for(row(name, calls=0.0)) == ""


@pytest.mark.parametrize(("calls", "is_told"), [(None, False), (1.0, False), (1.1, True)])
@pytest.mark.parametrize("name", ["publish", "subscribe"])
def test_messages_are_dear_in_clusters_only(name: str, calls: float | None, is_told: bool) -> None:
    assert bool(advice_for(row(name, calls=calls), is_clustered=True)) == is_told
    assert advice_for(row(name, calls=calls)) == ""


@pytest.mark.parametrize("name", ["get", "set", "KEYS", "keys ", "client|kill", ""])
def test_other_commands_have_no_advice(name: str) -> None:
    assert advice_for(row(name, usec=1e9)) == ""


def test_the_mean_counts_where_there_is_no_histogram() -> None:
    assert row("get", usec=7.0).slowest_usec == 7.0
    assert row("get").slowest_usec == 0.0
    assert Advice("x", slow_usec=0.0).fits(row("get"))


def test_rare_kinds_of_errors_ask_for_nothing() -> None:
    assert error_words.meaning_of("other").action == ""
