"""The supervisor with small programs instead of Shardwatch."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launcher import supervisor
from launcher.supervisor import Service, Supervisor
from launcher.trouble import LauncherError
from launcher.waiting import until

Make = Callable[..., Service]


@pytest.fixture
def watched() -> Iterator[Supervisor]:
    found = Supervisor(lambda _: None)
    yield found
    found.stop()


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def service(name: str, script: str, stage: int = 0) -> Service:
        return Service(name, stage, ["sh", "-c", script], dict(os.environ), tmp_path, tmp_path / f"{name}.log")

    return service


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}/exe").exists()


def test_it_names_the_service_that_does_not_start_and_its_last_words(watched: Supervisor, make: Make) -> None:
    service = make("mill", "echo no grain; exit 3")
    service.is_ready = lambda: False

    with pytest.raises(LauncherError, match=r"(?s)mill ended with status 3.*no grain"):
        watched.launch(service)


def test_it_gives_up_on_a_service_that_never_gets_ready(watched: Supervisor, make: Make) -> None:
    service = make("mill", "sleep 60")
    service.is_ready, service.start_seconds = lambda: False, 0.1

    with pytest.raises(LauncherError, match="not ready within"):
        watched.launch(service)


def test_a_service_that_was_ready_once_has_started(watched: Supervisor, make: Make) -> None:
    service = make("mill", "sleep 60")
    answers = iter([False, True])
    service.is_ready = lambda: next(answers, False)

    watched.launch(service)

    assert service.is_running()


def test_it_starts_again_what_ended_and_waits_longer_each_time(watched: Supervisor, make: Make) -> None:
    service = make("mill", "exit 1")
    watched.services.append(service)
    service.spawn()

    assert until(watched.tend, 5)
    assert until(lambda: not service.is_running(), 5)
    watched.tend()

    assert service.failures == 2
    assert service.retry_at is not None
    assert service.retry_at > service.started_at + supervisor.BACK_OFF_SECONDS[1]


def test_one_ended_service_does_not_keep_another_waiting(watched: Supervisor, make: Make) -> None:
    first, second = make("one", "exit 1"), make("two", "exit 1")
    watched.services += [first, second]
    first.spawn()
    second.spawn()
    assert until(lambda: not first.is_running() and not second.is_running(), 5)

    watched.tend()

    assert (first.failures, second.failures) == (1, 1)


def test_children_of_a_dead_service_die_too(watched: Supervisor, make: Make, tmp_path: Path) -> None:
    service = make("mill", "sleep 60 & echo $! > child; wait")
    watched.launch(service)
    assert until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), 5)
    child = int((tmp_path / "child").read_text())

    os.kill(watched.pids()["mill"], signal.SIGKILL)

    assert until(lambda: watched.tend() or is_gone(child), 5)
    assert until(lambda: is_gone(child), 5)


def test_applications_stop_before_their_servers(watched: Supervisor, make: Make, tmp_path: Path) -> None:
    script = "trap 'echo {} >> order; exit' TERM; touch {}; while :; do sleep 0.05; done"
    watched.launch(make("server", script.format("server", "server"), 0), make("app", script.format("app", "app"), 1))
    assert until(lambda: (tmp_path / "server").exists() and (tmp_path / "app").exists(), 5)

    watched.stop()

    assert (tmp_path / "order").read_text().split() == ["app", "server"]


def test_a_service_that_ignores_the_signal_is_killed(
    watched: Supervisor, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.3)
    watched.launch(make("mill", "trap '' TERM; touch deaf; while :; do sleep 0.05; done"))
    assert until(lambda: (tmp_path / "deaf").exists(), 5)

    watched.stop()

    assert not watched.services[0].is_running()


def test_a_long_log_is_moved_aside_while_its_writer_goes_on(
    watched: Supervisor, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LOG_LIMIT_BYTES", 1_000)
    service = make("mill", "while :; do echo 0123456789; sleep 0.001; done")
    watched.launch(service)
    assert until(lambda: service.log.stat().st_size > 1_000, 5)

    supervisor.trim_logs(service.log.parent)

    assert service.log.with_name("mill.log.1").stat().st_size > 1_000
    assert service.log.stat().st_size < 1_000
    assert until(lambda: service.log.stat().st_size > 0, 5)
