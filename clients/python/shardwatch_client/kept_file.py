"""One small file that is either whole or absent: a check sum on its first line, JSON on the second."""

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def load(path: Path) -> dict[str, Any] | None:
    """Return None when there is none that can be trusted."""
    try:
        checksum, _, text = path.read_bytes().partition(b"\n")
        kept = json.loads(text) if hashlib.sha256(text).hexdigest().encode() == checksum else None
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) else None


def save(path: Path, kept: Mapping[str, Any], *, durable: bool) -> bool:
    """Return whether it was written. `durable` waits for the disk, so that the file survives a loss of power."""
    text = json.dumps(kept).encode()
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:
            file.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return False
    return True
