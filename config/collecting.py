"""Static files are collected only when they changed: hashing and rewriting them takes seconds."""

import hashlib
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command

MARKER = "collected-from"


def collect_static() -> bool:
    """Return whether anything had to be done."""
    marker = settings.STATIC_ROOT / MARKER
    now = fingerprint([Path(folder) for folder in settings.STATICFILES_DIRS])
    if marker.exists() and marker.read_text(encoding="ascii") == now:
        return False
    call_command("collectstatic", interactive=False, clear=settings.STATIC_ROOT.exists(), verbosity=0)
    marker.write_text(now, encoding="ascii")
    return True


def fingerprint(folders: list[Path]) -> str:
    """Return a hash of all names and contents, and of what decides over the names of the copies."""
    digest = hashlib.sha256(f"{django.__version__} {settings.STORAGES['staticfiles']['BACKEND']}".encode())
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(folder)} {path.stat().st_size} ".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
