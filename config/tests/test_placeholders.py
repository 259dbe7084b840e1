"""A translation that lost a placeholder breaks the page that fills it in."""

import polib
import pytest

from config import translations
from config.translations import Message


def entry(text: str, translated: str, plural: str = "", fuzzy: bool = False) -> polib.POEntry:
    made = polib.POEntry(msgid=text, msgstr="" if plural else translated)
    if plural:
        made.msgid_plural, made.msgstr_plural = plural, {0: translated}
    made.flags = ["fuzzy"] if fuzzy else []
    return made


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("Save", "保存"),
        ("%(count)s of %(all)s", "%(all)s中%(count)s"),
        ("%d keys", "%d 個"),
        ("100 % of it", "その 100 %"),
        ("{name}", "{name} さん"),
    ],
)
def test_it_accepts_a_translation_with_the_same_placeholders(text: str, translated: str) -> None:
    assert translations._faults_of(entry(text, translated)) == []


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("%(count)s keys", "キー"),
        ("%(count)s keys", "%(counts)s 個"),
        ("keys", "%(count)s 個"),
        ("{name}", "{nom}"),
    ],
)
def test_it_finds_a_placeholder_that_was_lost_or_made_up(text: str, translated: str) -> None:
    assert "other placeholders" in translations._faults_of(entry(text, translated))[0]


def test_it_finds_what_is_not_translated() -> None:
    found = [translations._faults_of(one)[0] for one in (entry("a", ""), entry("a", "b", fuzzy=True))]

    assert found == ["not translated: 'a'"] * 2


def test_one_form_stands_for_singular_and_plural() -> None:
    assert translations._faults_of(entry("one key", "%(n)d 個", plural="%(n)d keys")) == []
    assert translations._faults_of(entry("one key", "", plural="%(n)d keys"))


def test_the_same_text_in_another_context_is_another_message() -> None:
    assert Message("Open", context="door") != Message("Open")
    assert translations._key(polib.POEntry(msgid="Open", msgctxt="door")) == Message("Open", context="door")
