"""Failures are stored as cause and words, and told in the reader's language."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from accounts.tests.cast import client_of
from collectors import causes, event_detection, statuses
from collectors.causes import SENTENCES, Cause
from collectors.client_reading import ClientReading
from collectors.event_detection import CacheState, NodeState
from collectors.failures import ReadError
from collectors.known_states import read
from collectors.models import NodeStatus, Step
from collectors.tests.cast import cache_with_nodes
from dashboard.templatetags.event_words import silence_reason

HOSTILE = "<b>%(oops)s 100% \x1b[2J"
JAPANESE = {"Accept-Language": "ja"}


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_sentence_that_takes_hostile_words(cause: Cause) -> None:
    sentence = causes.sentence_of(cause, HOSTILE)

    assert sentence.endswith((".", HOSTILE))
    assert (HOSTILE in sentence) is ("%(words)s" in str(SENTENCES[cause]))


@pytest.mark.parametrize(
    ("cause", "words", "sentence"),
    [
        ("", "", ""),
        ("from-a-newer-version", "ERR new", "ERR new"),
        ("error_reply", "ERR out", "The server answered with an error: ERR out"),
    ],
)
def test_it_reads_what_other_versions_stored(cause: str, words: str, sentence: str) -> None:
    assert causes.sentence_of(cause, words) == sentence


def test_it_tells_the_same_failure_in_each_language() -> None:
    status = NodeStatus(failed_cause=Cause.SENTINEL)

    with translation.override("ja"):
        japanese = status.failed_reason

    assert japanese != status.failed_reason
    assert japanese == str(translation_of(Cause.SENTINEL, "ja"))


def translation_of(cause: Cause, language: str) -> str:
    with translation.override(language):
        return str(SENTENCES[cause])


def test_the_english_of_a_failure_stays_english_and_short() -> None:
    with translation.override("ja"):
        english = ReadError(Step.INFO, Cause.ERROR_REPLY, "x" * 1_000).reason()

    assert english.startswith("The server answered with an error: xxx")
    assert len(english) <= causes.SENTENCE_LIMIT


@pytest.mark.django_db
def test_a_failed_poll_is_recorded_and_an_answer_clears_it() -> None:
    node = cache_with_nodes().nodes.get()
    statuses.record([(node.pk, ReadError(Step.AUTH, Cause.ERROR_REPLY, HOSTILE))], timezone.now())
    failed = NodeStatus.objects.get()
    statuses.record([(node.pk, None)], timezone.now())
    answered = NodeStatus.objects.get()

    assert (failed.failed_step, failed.failed_cause, failed.failed_words) == (
        "auth",
        "error_reply",
        "<b>%(oops)s 100%  [2J",
    )
    assert (answered.failed_step, answered.failed_cause, answered.failed_words) == ("", "", "")
    assert (answered.polls, answered.failures) == (2, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/caches/game/", "/health/", "/health/?cache=game"])
def test_japanese_pages_tell_failures_in_japanese(path: str) -> None:
    node = cache_with_nodes().nodes.get()
    since = timezone.now() - timedelta(minutes=3)
    NodeStatus.objects.create(node=node, failing_since=since, failed_step="info", failed_cause=Cause.SENTINEL)

    html = client_of().get(path, headers=JAPANESE).content.decode()

    assert translation_of(Cause.SENTINEL, "ja") in html
    assert translation_of(Cause.SENTINEL, "en") not in html


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_api_tells_them_in_the_language_that_is_asked_for(language: str) -> None:
    node = cache_with_nodes().nodes.get()
    NodeStatus.objects.create(node=node, failing_since=timezone.now(), failed_step="info", failed_cause=Cause.HTTP)

    answer = client_of().get("/api/v1/caches/game/nodes", headers={"Accept-Language": language}).json()

    assert answer["nodes"][0]["failed_reason"] == translation_of(Cause.HTTP, language)


def test_an_unread_client_list_has_its_reason() -> None:
    reading = ClientReading(failed_cause=Cause.NO_PERMISSION, failed_words="NOPERM no")

    assert reading.failure.endswith("NOPERM no")
    assert ClientReading().failure == ""


@pytest.mark.django_db
def test_an_outage_keeps_its_cause_for_every_language() -> None:
    cache = cache_with_nodes()
    now = timezone.now()
    NodeStatus.objects.create(node=cache.nodes.get(), answered_at=now, failing_since=now, failed_cause=Cause.CUT)
    (after,) = read(cache, now, ()).nodes.values()
    before = NodeState(after.id, after.address, after.shard, after.role, after.answered_at)

    with translation.override("ja"):
        states = [CacheState(now.timestamp(), {after.id: state}, {}) for state in (before, after)]
        (outage,) = event_detection.outages(*states)
        words = silence_reason(outage.nodes[0])

    assert outage.nodes[0]["reason"] == translation_of(Cause.CUT, "en")
    assert words == translation_of(Cause.CUT, "ja")


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"reason": "An old sentence."}, "An old sentence."),
        ({"reason": None}, ""),
        ({}, ""),
        ({"reason": "x", "cause": "error_reply", "words": "ERR a"}, "The server answered with an error: ERR a"),
        ({"reason": "x", "cause": "error_reply"}, "The server answered with an error: "),
    ],
)
def test_events_of_earlier_versions_keep_their_sentence(node: dict[str, str], words: str) -> None:
    assert silence_reason(node) == words
