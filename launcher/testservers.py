"""The database and the broker that one run of the tests has to itself."""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from launcher import postgres, valkey
from launcher.valkey import Valkey


@dataclass
class TestServers:
    """Servers in a throw-away folder with a short random name."""

    __test__ = False

    directory: Path
    database: postgres.Postgres
    child: subprocess.Popen[bytes]
    broker: Valkey

    @classmethod
    def start(cls) -> "TestServers":
        directory = Path(tempfile.mkdtemp(prefix="sw-test-", dir="/tmp"))
        # The database's account must pass through to its socket.
        directory.chmod(0o711)
        (directory / "static").mkdir()
        database, child = postgres.start_postgres(
            directory / "postgres", directory / "pg", **postgres.THROW_AWAY_SETTINGS
        )
        broker = valkey.start_valkey(directory / "broker", "--maxmemory-policy", "noeviction")
        return cls(directory, database, child, broker)

    def environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database.url,
            "CELERY_BROKER_URL": self.broker.url,
            "SHARDWATCH_STATIC_ROOT": str(self.directory / "static"),
        }

    def stop(self) -> None:
        self.broker.kill()
        postgres.stop_postgres(self.child)
        shutil.rmtree(self.directory, ignore_errors=True)
