"""bin/manage: which commands look at servers where nothing of ours runs."""

import pytest

from launcher.managing import needs_no_database


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["memkeys", "redis://h"], True),
        (["memkeys", "redis://h", "--json"], True),
        (["memkeys", "game", "--store"], False),
        (["memkeys", "--store", "game"], False),
        (["rules", "export"], False),
        (["help", "memkeys"], False),
        ([], False),
    ],
)
def test_only_scans_that_keep_nothing_need_no_database(words: list[str], expected: bool) -> None:
    assert needs_no_database(words) is expected
