"""Runs snippets of PHP in a php-cli of their own."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

BOOTSTRAP = Path(__file__).parent / "php" / "bootstrap.php"
SECONDS = 60

RunPhp = Callable[..., list[Any]]


def run(php: str, code: str, *settings: str, **environment: object) -> list[Any]:
    """Return what the code showed. Raise AssertionError for anything that PHP had to complain about."""
    words = [word for one in ("apc.enable_cli=1", "display_errors=stderr", *settings) for word in ("-d", one)]
    done = subprocess.run(
        [php, *words, "-r", f"require '{BOOTSTRAP}'; {code}"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=os.environ | {name: str(value) for name, value in environment.items()},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]
