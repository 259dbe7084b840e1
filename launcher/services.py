"""What bin/up runs, in the order of its stages: servers, the demo fleet, applications."""

import http.client
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from launcher import binaries, postgres, processes, valkey
from launcher.checkout import PYTHON, ROOT
from launcher.data import Data
from launcher.environment import MARK, start_seconds
from launcher.supervisor import Service

SERVERS, DEMO, APPLICATIONS = range(3)
PROBE_SECONDS = 5.0
# Other programs of the database's account can read its environment: it gets no secret.
PLAIN = {"PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR", "LD_LIBRARY_PATH", MARK}
# Needed once, by manage.py prepare.
ADMIN_PASSWORD = {"SHARDWATCH_ADMIN_PASSWORD", "SHARDWATCH_ADMIN_PASSWORD_FILE"}


@dataclass(frozen=True)
class Place:
    """Where the web server listens."""

    host: str
    port: int

    @property
    def reachable_host(self) -> str:
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104

    @property
    def url(self) -> str:
        return self._url_of(self.reachable_host)

    @property
    def public_url(self) -> str:
        """Return the address for links in messages: by the machine's name where the port is open to others."""
        return self._url_of(self.host if self.host == self.reachable_host else socket.getfqdn())

    def _url_of(self, host: str) -> str:
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def status_of(self, path: str, env: Mapping[str, str]) -> tuple[int, str]:
        """Return the status and the body of an answer, 0 where none comes."""
        name = env.get("SHARDWATCH_ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
        connection = http.client.HTTPConnection(self.reachable_host, self.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", path, headers={"Host": "localhost" if name in {"", "*"} else name})
            answer = connection.getresponse()
            return answer.status, answer.read(2_000).decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()


@dataclass(frozen=True)
class Services:
    """Makes the services of one data folder."""

    data: Data
    env: Mapping[str, str]

    def database(self) -> Service:
        server = self.data.postgres
        # The folder must be there before the supervisor goes into it.
        server.prepare()
        return replace(
            self._service("database", SERVERS, server.command(), server.data),
            env=self._plain(),
            is_ready=server.is_ready,
            before=server.prepare,
            account=postgres.account(),
            stop_signal=signal.SIGINT,
        )

    def broker(self) -> Service:
        path = self.data.broker_socket
        place = ("--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700", "--dir", str(self.data.broker))
        keep = ("--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction", "--set-proc-title", "no")
        command = [str(binaries.valkey_server()), *place, *keep]
        return replace(
            self._service("broker", SERVERS, command, self.data.broker),
            env=self._plain(),
            is_ready=partial(valkey.answers, path),
        )

    def demo_fleet(self) -> Service:
        ready = self.data.demo / "ready"
        return replace(
            self._service("demo fleet", DEMO, self._manage("demo_fleet", "--dir", str(self.data.demo))),
            is_ready=ready.exists,
            before=partial(ready.unlink, missing_ok=True),
        )

    def demo_traffic(self) -> Service:
        return self._service("demo traffic", APPLICATIONS, self._manage("demo_traffic", "--dir", str(self.data.demo)))

    def demo_cloud(self) -> Service:
        # Nothing is hidden, so that charts begin at once.
        words = ("cloud_emulator", "--dir", str(self.data.demo), "--register", "--delay", "0")
        return self._service("demo cloud", APPLICATIONS, self._manage(*words))

    def application(self, name: str, place: Place) -> Service:
        command = processes.command(name, data=str(self.data.root), host=place.host, port=place.port)
        command[0] = str(PYTHON.with_name(command[0]))
        return self._service(name, APPLICATIONS, command)

    def web(self, place: Place, held: socket.socket) -> Service:
        """Return the web server, which takes over the port that is held for it."""
        return replace(
            self.application("web", place),
            before=held.close,
            is_ready=lambda: place.status_of("/healthz", self.env)[0] == http.client.OK,
        )

    def _manage(self, *words: str) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *words]

    def _service(self, name: str, stage: int, command: list[str], cwd: Path = ROOT) -> Service:
        log = self.data.log / f"{name.replace(' ', '-')}.log"
        env = {key: value for key, value in self.env.items() if key not in ADMIN_PASSWORD}
        return Service(name, stage, command, env, cwd, log, start_seconds=start_seconds())

    def _plain(self) -> dict[str, str]:
        return {key: value for key, value in self.env.items() if key in PLAIN}
