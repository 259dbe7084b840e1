"""Child processes that die with their parent."""

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
ALL_SIGNALS = signal.valid_signals()


@dataclass(frozen=True)
class Account:
    """The operating system's account that a child runs as."""

    name: str
    uid: int
    gid: int


def spawn(
    command: Sequence[str | Path],
    *,
    log: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    account: Account | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own that gets `death_signal` when the calling thread ends.

    Output goes to the file descriptor `log`, nowhere without one. Call it from a thread that outlives the child.
    """
    output = subprocess.DEVNULL if log is None else log
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if log is not None else subprocess.DEVNULL,
        env=None if env is None else dict(env),
        cwd=cwd,
        # A terminal's Ctrl-C reaches the supervisor alone, which then stops its children in order.
        start_new_session=True,
        preexec_fn=_prepare(account, death_signal, os.getpid()),
    )


def _prepare(account: Account | None, death_signal: signal.Signals, parent: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ALL_SIGNALS)
        drop_to(account)
        # The kernel forgets this at a change of uid, so it comes last.
        libc.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def drop_to(account: Account | None) -> None:
    if account is not None:
        os.setgroups([])
        os.setgid(account.gid)
        os.setuid(account.uid)


def signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the child and everything it started, also after its own end."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def stop(child: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM, patience: float = 10) -> int:
    """End the child, with SIGKILL where it takes longer than `patience` seconds. Return its exit status."""
    if child.poll() is None:
        child.send_signal(number)
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            child.kill()
    signal_group(child, signal.SIGKILL)
    return child.wait()
