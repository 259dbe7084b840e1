"""How names of keys are shown: whole to operators, to others with hashes in place of ids where that is the rule."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.access import signed_in
from collectors.keyscan.names import shown
from collectors.keyscan.shapes import collapse, label

PIECES = re.compile(rb"([:/|.#;,]+)")
HASH_BYTES = 4
SHOWN_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Naming:
    """One reader's view of names."""

    is_masked: bool = False

    @classmethod
    def for_reader(cls, request: HttpRequest) -> Naming:
        return cls(settings.MASK_KEY_NAMES and not signed_in(request).is_operator)

    def key(self, name: bytes) -> str:
        text = masked(name) if self.is_masked else shown(name[: 4 * SHOWN_LIMIT])
        return (text if len(text) <= SHOWN_LIMIT else f"{text[: SHOWN_LIMIT - 1]}…") or _("(empty name)")

    def prefix(self, prefix: bytes, is_other: bool = False) -> str:
        """Return a prefix; of "other" that of the level above."""
        text = masked(prefix) if self.is_masked and not is_other else shown(prefix)
        return _("%(prefix)s other") % {"prefix": text} if is_other and text else _("other") if is_other else text

    def text(self, text: str) -> str:
        """Return a name that was stored as it is shown."""
        return masked(text.encode()) if self.is_masked else text


def masked(name: bytes) -> str:
    """Return a name with hashes for its ids: parts with digits, and the last of several parts."""
    pieces = PIECES.split(name)
    return "".join(
        shown(piece) if number % 2 or is_plain(piece, number == len(pieces) - 1 > 0) else hashed(piece)
        for number, piece in enumerate(pieces)
    )


def is_plain(piece: bytes, is_last: bool) -> bool:
    """Return whether a part says nothing about anybody: a word before the last part, or ids that are collapsed."""
    if not piece.strip(b"*{}"):
        return True
    return not is_last and b"@" not in piece and label(collapse(piece)) == piece


def hashed(piece: bytes) -> str:
    """Return a short hash that only this installation can make."""
    key = settings.SECRET_KEY.encode()[:64]
    return "~" + hashlib.blake2b(piece, key=key, digest_size=HASH_BYTES).hexdigest()
