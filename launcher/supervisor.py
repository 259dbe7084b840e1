"""Starts services in order, keeps them running, and stops them in the reverse order."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher import children
from launcher.children import Account
from launcher.trouble import LauncherError
from launcher.waiting import until

BACK_OFF_SECONDS = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
# A service that lived this long has earned an immediate restart again.
STEADY_SECONDS = 60.0
STOP_SECONDS = 15.0
TEND_SECONDS = 0.25
LOG_LIMIT_BYTES = 10_000_000
LAST_LINES = 8


@dataclass
class Service:
    """One program that must run. Those of a lower stage start before and stop after those of a higher one."""

    name: str
    stage: int
    command: Sequence[str | Path]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    is_ready: Callable[[], bool] = lambda: True
    before: Callable[[], None] = lambda: None
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    start_seconds: float = 120.0
    child: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    retry_at: float | None = None

    def spawn(self) -> None:
        self.before()
        self.started_at, self.retry_at = time.monotonic(), None
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.child = children.spawn(
                self.command,
                log=output,
                env=self.env,
                cwd=self.cwd,
                account=self.account,
                death_signal=self.stop_signal,
            )
        finally:
            os.close(output)

    def is_running(self) -> bool:
        return self.child is not None and self.child.poll() is None

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(f"  {line}" for line in lines[-LAST_LINES:])


@dataclass
class Supervisor:
    """The services of one installation, in the order in which they were started."""

    say: Callable[[str], None]
    services: list[Service] = field(default_factory=list)

    def launch(self, *services: Service) -> None:
        """Start these together and wait until all are ready. Raise LauncherError for the first that is not."""
        for service in services:
            self.services.append(service)
            service.spawn()
        for service in services:
            self._await(service)

    def _await(self, service: Service) -> None:
        is_over = until(lambda: not service.is_running() or service.is_ready(), service.start_seconds)
        if not service.is_running():
            status = service.child.returncode if service.child else None
            raise LauncherError(
                f"The {service.name} ended with status {status} instead of starting. Its last lines:\n"
                f"{service.last_words()}",
                f"The whole log is {service.log}.",
            )
        # Not asked once more: on a busy machine a second question may find no answer in time.
        if not is_over:
            raise LauncherError(
                f"The {service.name} was not ready within {service.start_seconds:g} s.", f"Its log is {service.log}."
            )

    def tend(self) -> bool:
        """Start again what ended, after a pause that grows with each failure. Return whether anything was started."""
        now = time.monotonic()
        # A list, because all of them must be looked after and any() stops at the first.
        return any([self._tend(service, now) for service in self.services])  # noqa: C419

    def _tend(self, service: Service, now: float) -> bool:
        if service.is_running():
            return False
        if service.retry_at is None:
            self._mourn(service, now)
        if service.retry_at is None or now < service.retry_at:
            return False
        try:
            service.spawn()
        except (LauncherError, OSError) as error:
            self.say(f"The {service.name} could not be started again: {error}")
        return True

    def _mourn(self, service: Service, now: float) -> None:
        """Note an end and end what it left behind: its own children would keep its port."""
        assert service.child is not None
        children.signal_group(service.child, signal.SIGKILL)
        if now - service.started_at > STEADY_SECONDS:
            service.failures = 0
        pause = BACK_OFF_SECONDS[min(service.failures, len(BACK_OFF_SECONDS) - 1)]
        service.failures += 1
        service.retry_at = now + pause
        self.say(f"The {service.name} ended with status {service.child.returncode}; it starts again in {pause:g} s.")

    def stop(self) -> None:
        """Stop everything, applications before the servers that they use."""
        for stage in sorted({service.stage for service in self.services}, reverse=True):
            _stop_together([service for service in self.services if service.stage == stage])

    def pids(self) -> dict[str, int]:
        return {service.name: service.child.pid for service in self.services if service.child}


def trim_logs(folder: Path) -> None:
    """Keep each log and one older part of it within bounds."""
    for log in folder.glob("*.log"):
        if log.stat().st_size > LOG_LIMIT_BYTES:
            rotate(log)


def rotate(log: Path) -> None:
    """Move the content aside. The writer keeps its open file, which it appends to."""
    log.with_name(f"{log.name}.1").write_bytes(log.read_bytes())
    os.truncate(log, 0)


def _stop_together(services: Sequence[Service]) -> None:
    running = [service for service in services if service.child is not None]
    for service in running:
        if service.child and service.is_running():
            service.child.send_signal(service.stop_signal)
    deadline = time.monotonic() + STOP_SECONDS
    for service in running:
        assert service.child is not None
        until(lambda child=service.child: child.poll() is not None, deadline - time.monotonic())  # type: ignore[misc]
        children.stop(service.child, signal.SIGKILL)
