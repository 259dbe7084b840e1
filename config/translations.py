"""Keep locale/ja complete: find what is to be translated, without GNU gettext installed.

Babel finds messages in Python; Django turns templates into something that reads as Python. Strings of
JavaScript stand in templates, so there is nothing to find there. Babel and polib are for development
only: a running server needs the compiled file alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polib
from babel.messages.extract import extract
from django.conf import settings
from django.utils.translation.template import templatize

CATALOGUE = Path(settings.BASE_DIR) / "locale" / "ja" / "LC_MESSAGES" / "django.po"
FOLDERS = ("accounts", "alerts", "collectors", "config", "dashboard", "fleet", "switches", "demo")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
PLACEHOLDER = re.compile(r"%\((\w+)\)[sdf]|%[sd]|\{(\w*)\}")
HEADER = {
    "Project-Id-Version": "Shardwatch",
    "Language": "ja",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "Plural-Forms": "nplurals=1; plural=0;",
}


@dataclass(frozen=True, slots=True)
class Message:
    """A text in the code: its singular, its plural where it has one, its context."""

    text: str
    plural: str = ""
    context: str | None = None


def messages() -> dict[Message, set[str]]:
    """Return every text to translate with the files that it stands in."""
    found: dict[Message, set[str]] = {}
    root = Path(settings.BASE_DIR)
    for path in sorted(_sources(root)):
        for message in _messages_in(path):
            found.setdefault(message, set()).add(str(path.relative_to(root)))
    return found


def _sources(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (p for p in (root / folder).rglob("*.py") if not {"tests", "migrations"} & set(p.parts))
    yield from (root / "templates").rglob("*.html")
    yield from (root / "templates").rglob("*.txt")


def _messages_in(path: Path) -> Iterator[Message]:
    text = path.read_text(encoding="utf-8")
    # What Django makes of a template is no Python where the template's indentation falls back.
    lines = [] if path.suffix == ".py" else templatize(text, origin=str(path)).split("\n")
    source = text if path.suffix == ".py" else "\n".join(line.lstrip() for line in lines)
    for _, parts, _, context in extract("python", BytesIO(source.encode()), KEYWORDS):
        singular, plural = (parts[0], parts[1]) if isinstance(parts, tuple) else (parts, "")
        if singular:
            yield Message(singular, plural or "", context)


def update() -> polib.POFile:
    """Bring the catalogue's entries up to the code, keeping translations; write it and return it."""
    catalogue = polib.pofile(str(CATALOGUE)) if CATALOGUE.exists() else polib.POFile()
    catalogue.metadata = dict(HEADER)
    catalogue.wrapwidth = 100
    known = {_key(entry): entry for entry in catalogue}
    catalogue[:] = []
    for message, files in sorted(messages().items(), key=lambda item: (min(item[1]), item[0].text)):
        entry = known.get(message) or _blank(message)
        entry.occurrences = [(name, "") for name in sorted(files)]
        entry.flags = ["python-format"] if PLACEHOLDER.search(message.text) and "%" in message.text else []
        catalogue.append(entry)
    CATALOGUE.parent.mkdir(parents=True, exist_ok=True)
    catalogue.save(str(CATALOGUE))
    return catalogue


def compile_catalogue() -> None:
    polib.pofile(str(CATALOGUE)).save_as_mofile(str(CATALOGUE.with_suffix(".mo")))


def faults() -> list[str]:
    """Return what is wrong with the catalogue, a sentence each; nothing when it is complete."""
    catalogue = polib.pofile(str(CATALOGUE))
    entries = {_key(entry): entry for entry in catalogue}
    wanted = messages()
    found = [f"not in the catalogue: {m.text!r} ({min(files)})" for m, files in wanted.items() if m not in entries]
    found += [f"no longer used: {message.text!r}" for message in entries if message not in wanted]
    for entry in catalogue:
        found += _faults_of(entry)
    compiled = CATALOGUE.with_suffix(".mo")
    if not compiled.exists() or compiled.read_bytes() != catalogue.to_binary():
        found.append("django.mo is older than django.po")
    return found


def _faults_of(entry: polib.POEntry) -> list[str]:
    texts = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
    if not texts or not all(texts) or entry.fuzzy:
        return [f"not translated: {entry.msgid!r}"]
    allowed = set(PLACEHOLDER.findall(entry.msgid)) | set(PLACEHOLDER.findall(entry.msgid_plural or ""))
    return [f"other placeholders: {entry.msgid!r}" for text in texts if set(PLACEHOLDER.findall(text)) != allowed]


def _key(entry: polib.POEntry) -> Message:
    return Message(entry.msgid, entry.msgid_plural or "", entry.msgctxt)


def _blank(message: Message) -> polib.POEntry:
    entry = polib.POEntry(msgid=message.text, msgctxt=message.context)
    if message.plural:
        entry.msgid_plural, entry.msgstr_plural = message.plural, {0: ""}
    return entry
