"""Unpacks the Chromium of launcher/packed.py: `python -m launcher.unpacking ARCHIVE FOLDER`, in the virtualenv."""

import sys
import tarfile
from io import BytesIO
from pathlib import Path

import brotli

PROGRAM, LIBRARIES = "package/bin/chromium.br", ("package/bin/al2023.tar.br", "package/bin/swiftshader.tar.br")
# The libraries stand beside the program, and are for it alone.
SCRIPT = """#!/bin/sh
here=$(dirname -- "$0")
LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/chromium" "$@"
"""


def unpack(archive: Path, folder: Path) -> None:
    """Write the program, its libraries and a script that starts it with them; names lose their folders."""
    folder.mkdir()
    with tarfile.open(archive) as package:
        (folder / "chromium").write_bytes(_member(package, PROGRAM))
        for name in LIBRARIES:
            with tarfile.open(fileobj=BytesIO(_member(package, name))) as libraries:
                for member in libraries:
                    if member.isfile() and (file := libraries.extractfile(member)):
                        (folder / Path(member.name).name).write_bytes(file.read())
    (folder / "chrome").write_text(SCRIPT, encoding="ascii")
    for name in ("chromium", "chrome"):
        (folder / name).chmod(0o755)


def _member(package: tarfile.TarFile, name: str) -> bytes:
    file = package.extractfile(name)
    assert file is not None
    unpacked: bytes = brotli.decompress(file.read())
    return unpacked


if __name__ == "__main__":
    unpack(Path(sys.argv[1]), Path(sys.argv[2]))
