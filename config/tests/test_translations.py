"""Japanese is complete at every commit."""

from config import translations


def test_it_has_a_japanese_text_for_every_string() -> None:
    assert translations.faults() == []


def test_it_finds_texts_in_code_and_templates() -> None:
    files = {name.split("/")[0] for names in translations.messages().values() for name in names}

    assert {"collectors", "dashboard", "fleet", "templates"} <= files
