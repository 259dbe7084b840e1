"""How the tests are spread: whole products one after the other, and shared by the files that look at them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from launcher import spreading
from launcher.checkout import ROOT
from launcher.spreading import WHOLE, WholeFirst, asks_for, is_wanted_later, lent


class Run:
    """A run of files in this order, each with the fixtures of its tests; `seen` is what was made and ended."""

    def __init__(self, files: dict[str, list[str]]) -> None:
        self.items: list[Any] = [
            SimpleNamespace(nodeid=f"{file}::test_{number}", fixturenames=names)
            for file, names in files.items()
            for number in range(2)
        ]
        self.seen: list[str] = []
        self.cleanups: list[Callable[[], None]] = []
        self.config = SimpleNamespace(stash=pytest.Stash(), add_cleanup=self.cleanups.append)
        self.session = SimpleNamespace(
            items=self.items, shouldfail=False, shouldstop=False, exitstatus=pytest.ExitCode.OK
        )

    @contextmanager
    def made(self) -> Iterator[str]:
        self.seen.append("made")
        yield "it"
        self.seen.append("ended")

    def lends(self, file: str) -> Any:
        """Return what lends the product to a file."""
        node = SimpleNamespace(nodeid=file)
        request: Any = SimpleNamespace(fixturename="product", config=self.config, session=self.session, node=node)
        return lent(request, self.made)

    def test(self, file: str) -> None:
        with self.lends(file) as product:
            assert product == "it"
            self.seen.append(file)


@pytest.fixture
def run() -> Run:
    return Run({"a.py": ["product"], "b.py": [], "c.py": ["x", "product"], "d.py": []})


def test_what_is_lent_is_made_once_and_ended_behind_the_last_file(run: Run) -> None:
    run.test("a.py")
    run.test("c.py")

    assert run.seen == ["made", "a.py", "c.py", "ended"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("shouldfail", "stopping after 1 failures"), ("shouldstop", "x"), ("exitstatus", pytest.ExitCode.INTERRUPTED)],
)
def test_it_is_ended_with_its_file_where_a_run_is_broken_off(run: Run, name: str, value: object) -> None:
    setattr(run.session, name, value)

    run.test("a.py")

    assert run.seen == ["made", "a.py", "ended"]


def test_it_is_ended_once_at_the_latest_with_the_run(run: Run) -> None:
    run.test("a.py")

    for cleanup in run.cleanups * 2:
        cleanup()

    assert run.seen == ["made", "a.py", "ended"]


def test_it_is_made_again_for_who_asks_after_its_end(run: Run) -> None:
    for file in ("c.py", "c.py"):
        run.test(file)

    assert run.seen == ["made", "c.py", "ended"] * 2


@pytest.mark.parametrize(
    ("file", "name", "wanted"),
    [("a.py", "product", True), ("c.py", "product", False), ("a.py", "x", True), ("a.py", "y", False)],
)
def test_it_looks_for_files_behind_this_one(run: Run, file: str, name: str, wanted: bool) -> None:
    assert is_wanted_later(run.items, file, name) is wanted


def test_whole_products_are_one_piece_of_work_and_other_files_one_each() -> None:
    spread = WholeFirst.__new__(WholeFirst)

    assert {spread._split_scope(f"{file}::test_x[a::b]") for file in WHOLE} == {"whole"}
    assert spread._split_scope("fleet/tests/test_models.py::test_x[1]") == "fleet/tests/test_models.py"


def test_whole_products_begin_and_the_others_keep_their_order() -> None:
    nodeids = ["b.py::one", f"{WHOLE[1]}::two", "a.py::three", f"{WHOLE[0]}::four", "b.py::five"]
    items: list[Any] = [SimpleNamespace(nodeid=nodeid) for nodeid in nodeids]

    spreading.pytest_collection_modifyitems(items)

    assert [item.nodeid for item in items] == [nodeids[number] for number in (3, 1, 0, 2, 4)]


@pytest.mark.parametrize("file", WHOLE)
def test_every_file_that_goes_first_exists(file: str) -> None:
    assert (ROOT / file).is_file()


def test_what_is_lent_is_lent_to_files_that_go_first(request: pytest.FixtureRequest) -> None:
    asking = [item for item in request.session.items if any(asks_for(item, name) for name in ("product", "demos"))]

    assert {item.nodeid.split("::", 1)[0] for item in asking} <= set(WHOLE)
