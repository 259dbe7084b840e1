"""The measure of a read in PHP, which `bin/bench switches` prints."""

import json
import subprocess
from pathlib import Path

import clients

READ = Path(clients.__file__).parent / "php" / "bench" / "read.php"


def test_it_measures_a_read_with_apcu(php: str) -> None:
    done = subprocess.run(
        [php, "-d", "apc.enable_cli=1", READ, "1000"], capture_output=True, text=True, timeout=60, check=True
    )

    measured = json.loads(done.stdout)

    assert done.stderr == ""
    assert measured["apcu"] is True
    assert measured["operations"] == 1000
    assert 0 < measured["read_microseconds"] < measured["first_read_of_a_request_microseconds"]
