"""OpenFeature's JavaScript SDK, which a test of switches asks with: installed once into .venv, where npm is.

npm checks each package against the SHA-512 of the lock file, and runs nothing of them.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from launcher.checkout import ROOT, VIRTUALENV
from launcher.steps import step

VARIABLE = "SHARDWATCH_OPENFEATURE_JS"
PINNED = ROOT / "switches" / "tests" / "openfeature"
INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def folder() -> Path:
    """Return where the SDK lies that the lock file of this checkout names."""
    digest = hashlib.sha256((PINNED / "package-lock.json").read_bytes()).hexdigest()
    return VIRTUALENV / f"openfeature-{digest[:16]}"


def provide(target: Path) -> None:
    """Install it there unless it is there; where that cannot be done, say why: its test is then left out."""
    if target.exists() or not (shutil.which("node") and shutil.which("npm")):
        return
    with step("Fetching OpenFeature's JavaScript SDK"), TemporaryDirectory(dir=target.parent) as directory:
        made = Path(directory) / "made"
        made.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name, made)
        done = subprocess.run(
            [*INSTALL, "--cache", f"{directory}/cache"], cwd=made, check=False, capture_output=True, text=True
        )
        if done.returncode == 0:
            made.rename(target)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        print(f"npm could not install it, so that its test is left out: {last}", flush=True)
