"""How the tests are spread over two cores, and how files share what takes long to start.

Those that start the whole product begin, one after the other: two products at once would only wait for each other, and
one at the end would leave a core idle for minutes.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

import pytest
from xdist.scheduler import LoadFileScheduling

T = TypeVar("T")
Shelf = dict[str, tuple[ExitStack, Any]]
LENT = pytest.StashKey[Shelf]()
WHOLE = (
    "dashboard/tests/test_journeys.py",
    "dashboard/tests/test_chart_tools.py",
    "launcher/tests/test_up.py",
    "bench/tests/test_drills.py",
    "bench/tests/test_outbox.py",
    "demo/tests/test_traffic.py",
    "demo/tests/test_demo_trouble.py",
    "demo/tests/test_fleet.py",
    "demo/tests/test_workload.py",
    "demo/tests/test_cloud_running.py",
)


class WholeFirst(LoadFileScheduling):  # type: ignore[misc]
    """Files stay together, and those of WHOLE are one piece of work."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "whole" if file in WHOLE else file


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place(item.nodeid))


def place(nodeid: str) -> int:
    """Return where a test stands in the order of files; the others keep theirs, behind."""
    file = nodeid.split("::", 1)[0]
    return WHOLE.index(file) if file in WHOLE else len(WHOLE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> WholeFirst:
    config.option.loadscopereorder = False
    return WholeFirst(config, log)


@contextmanager
def lent(request: pytest.FixtureRequest, make: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """Give a fixture of a file what other files get too: the first has it made, behind the last one it is ended."""
    name, shelf = request.fixturename or "", request.config.stash.setdefault(LENT, Shelf())
    if name not in shelf:
        stack = ExitStack()
        # The last resort: by then there is no database any more.
        request.config.add_cleanup(stack.close)
        shelf[name] = stack, stack.enter_context(make())
    stack, made = shelf[name]
    yield made
    if is_broken_off(request.session) or not is_wanted_later(request.session.items, request.node.nodeid, name):
        del shelf[name]
        stack.close()


def is_broken_off(session: pytest.Session) -> bool:
    """Return whether no other file will have its turn."""
    return bool(session.shouldfail or session.shouldstop or session.exitstatus == pytest.ExitCode.INTERRUPTED)


def is_wanted_later(items: list[pytest.Item], file: str, name: str) -> bool:
    """Return whether a file behind this one asks for the fixture."""
    last = max(index for index, item in enumerate(items) if item.nodeid.startswith(f"{file}::"))
    return any(asks_for(item, name) for item in items[last + 1 :])


def asks_for(item: pytest.Item, name: str) -> bool:
    """Return whether a test wants this fixture, and not a parameter of its own that has the same name."""
    own = getattr(item, "callspec", None)
    return name in getattr(item, "fixturenames", ()) and not (own and name in own.params)
