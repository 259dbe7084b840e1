"""bin/manage: manage.py in the virtualenv and the environment of one data folder."""

import os
import sys
from typing import NoReturn

from launcher.checkout import PYTHON, ROOT
from launcher.data import Data
from launcher.environment import environment, is_given

# An engineer on a bastion looks at a server where nothing of ours runs.
WITHOUT_DATABASE = "memkeys"


def needs_no_database(words: list[str]) -> bool:
    return words[:1] == [WITHOUT_DATABASE] and "--store" not in words


def run(data: Data, words: list[str]) -> NoReturn:
    """Become manage.py. Standard output belongs to the command alone."""
    data.root.mkdir(parents=True, exist_ok=True)
    if data.owner() is None and not is_given("DATABASE_URL") and not needs_no_database(words):
        sys.stderr.write(
            f"Note: nothing runs with the data in {data.root}, so there is no database to ask. "
            "Start it with: bin/up --detach\n"
        )
        sys.stderr.flush()
    os.execve(PYTHON, [str(PYTHON), str(ROOT / "manage.py"), *words], environment(data))  # noqa: S606
