"""A php-fpm of our own and just enough FastCGI to ask it for one page."""

import json
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher import children
from launcher.waiting import until

CONFIGURATION = """
[global]
error_log = {folder}/fpm.log
daemonize = no
[www]
listen = {folder}/s
pm = static
pm.max_children = 2
clear_env = no
{user}
"""
PATIENCE_SECONDS = 20.0
BEGIN, PARAMS, STDIN, STDOUT = 1, 4, 5, 6


@dataclass
class Fpm:
    """Two workers behind a Unix socket, which answer with one script."""

    process: subprocess.Popen[bytes]
    socket_path: Path
    script: Path

    @classmethod
    def start(cls, program: str, folder: Path, script: Path, environment: Mapping[str, str]) -> "Fpm":
        user = "user = root\ngroup = root" if os.geteuid() == 0 else ""
        configuration = folder / "fpm.conf"
        configuration.write_text(CONFIGURATION.format(folder=folder, user=user))
        words = [program, "--nodaemonize", "--fpm-config", str(configuration)]
        if os.geteuid() == 0:
            words.append("--allow-to-run-as-root")
        log = os.open(folder / "out.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        process = children.spawn(words, log=log, cwd=folder, env={**os.environ, **environment})
        os.close(log)
        server = cls(process, folder / "s", script)
        assert until(server.is_up, PATIENCE_SECONDS), (folder / "fpm.log").read_text()
        return server

    def is_up(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self.socket_path)) == 0

    def get(self) -> Any:
        """Return what the script said, which is JSON."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(str(self.socket_path))
            connection.sendall(self._request())
            _, _, body = read_output(connection).partition(b"\r\n\r\n")
        return json.loads(body)

    def _request(self) -> bytes:
        named = {"SCRIPT_FILENAME": str(self.script), "REQUEST_METHOD": "GET", "SERVER_PROTOCOL": "HTTP/1.1"}
        pairs = b"".join(bytes([len(name), len(value)]) + (name + value).encode() for name, value in named.items())
        return b"".join(
            [record(BEGIN, struct.pack(">HB5x", 1, 0)), record(PARAMS, pairs), record(PARAMS, b""), record(STDIN, b"")]
        )

    def reload(self, worker: int) -> None:
        """Let it start anew as `systemctl reload` does, and wait until the worker is gone."""
        self.process.send_signal(signal.SIGUSR2)
        assert until(lambda: not Path(f"/proc/{worker}").exists() and self.is_up(), PATIENCE_SECONDS)

    def stop(self) -> None:
        children.stop(self.process)


def record(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def read_output(connection: socket.socket) -> bytes:
    stream, output = connection.makefile("rb"), b""
    while len(header := stream.read(8)) == 8:
        _, kind, _, size, padding = struct.unpack(">BBHHBx", header)
        content = stream.read(size + padding)[:size]
        output += content if kind == STDOUT else b""
    return output
