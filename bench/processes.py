"""What processes cost: CPU and memory of whole trees, also of children that ended meanwhile."""

from collections.abc import Iterable, Mapping

import psutil


def tree(process: psutil.Process) -> list[psutil.Process]:
    """Return the process and everything it started that still runs."""
    return [process, *process.children(recursive=True)]


def cpu_seconds(process: psutil.Process) -> float:
    """Return the user and system time of a tree. The kernel adds a child's to its parent's when it has ended."""
    total = 0.0
    for member in tree(process):
        try:
            times = member.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def resident_bytes(process: psutil.Process) -> int:
    return sum(member.memory_info().rss for member in tree(process) if member.is_running())


class Meter:
    """Measures the CPU seconds of named trees from its making to `read`."""

    def __init__(self, processes: Mapping[str, Iterable[psutil.Process]]) -> None:
        self.processes = {name: list(found) for name, found in processes.items()}
        self.begun = self._now()

    def _now(self) -> dict[str, float]:
        return {name: sum(map(cpu_seconds, found)) for name, found in self.processes.items()}

    def read(self) -> dict[str, float]:
        now = self._now()
        return {name: now[name] - self.begun[name] for name in now}
