"""bin/up --stop: end the run that holds a data folder."""

import os
import signal
from contextlib import suppress

from launcher import leftovers
from launcher.data import Data
from launcher.steps import step
from launcher.trouble import LauncherError
from launcher.waiting import until

PATIENCE_SECONDS = 60.0


def stop(data: Data) -> int:
    """Return 0 when nothing runs any more, also where nothing did."""
    pid = data.owner()
    if pid is None:
        ended = leftovers.end(data)
        data.run_file.unlink(missing_ok=True)
        print(f"Ended {ended} processes of a killed run." if ended else f"Nothing runs with the data in {data.root}.")
        return 0
    with step("Stopping Shardwatch"):
        try:
            os.kill(pid, signal.SIGTERM)
        except PermissionError as error:
            raise LauncherError(f"Process {pid} belongs to another account.", "Stop it as that account.") from error
        if not until(lambda: data.owner() is None, PATIENCE_SECONDS):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until(lambda: data.owner() is None, 5)
            leftovers.end(data)
            data.run_file.unlink(missing_ok=True)
    return 0
