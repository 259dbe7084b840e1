"""Servers for all tests: a database and a broker for the run, caches to watch for each test that asks."""

import base64
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from django.apps import AppConfig
from django.conf import settings
from django.db import connection
from django.db.models.signals import post_migrate
from django.dispatch import receiver
from django.utils import translation

from config import env
from launcher import memcached, parts, valkey
from launcher.memcached import Memcached
from launcher.spreading import pytest_collection_modifyitems as pytest_collection_modifyitems
from launcher.spreading import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler
from launcher.testservers import TestServers
from launcher.valkey import Valkey

SERVERS = pytest.StashKey[TestServers]()
PATIENCE_SECONDS = 20.0

ValkeyFactory = Callable[..., Valkey]
ClusterFactory = Callable[..., list[Valkey]]
MemcachedFactory = Callable[..., Memcached]


def pytest_configure(config: pytest.Config) -> None:
    # Workers of xdist inherit the address from the process that started them.
    if "DATABASE_URL" not in os.environ:
        config.stash[SERVERS] = servers = TestServers.start()
        os.environ.update(servers.environment())
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))
    os.environ.setdefault("SHARDWATCH_ENCRYPTION_KEYS", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
    settings.SECRET_KEY = os.environ["SECRET_KEY"]
    settings.ENCRYPTION_KEYS = env.words("SHARDWATCH_ENCRYPTION_KEYS")
    settings.CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", settings.CELERY_BROKER_URL)
    settings.DATABASES["default"].update(env.database("DATABASE_URL", ""))
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.SWITCHES_COPY = ""
    # Nobody asks for Django's permissions; making them anew takes longer than to empty all tables behind a test.
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    # Pages are tested without collecting their files; an empty folder keeps whitenoise from complaining.
    settings.STATIC_ROOT = Path(env.text("SHARDWATCH_STATIC_ROOT", str(settings.STATIC_ROOT)))
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"


def pytest_collection_finish(session: pytest.Session) -> None:
    """A module that leads other tests to a broker of its own when it is imported is found here."""
    if os.environ["CELERY_BROKER_URL"] != settings.CELERY_BROKER_URL:
        pytest.exit("A module changed CELERY_BROKER_URL while the tests were collected.", returncode=3)


def pytest_unconfigure(config: pytest.Config) -> None:
    if servers := config.stash.get(SERVERS, None):
        servers.stop()


def database_url() -> str:
    """Return the address of the tests' database, for processes that the tests start."""
    told = connection.settings_dict
    place = urlencode({"host": told["HOST"], "port": told["PORT"] or 5432})
    return f"postgres://{quote(told['USER'])}:{quote(told['PASSWORD'])}@/{told['NAME']}?{place}"


@receiver(post_migrate)
def empty_tables_without_models(sender: AppConfig, **_: object) -> None:
    """What a test commits is flushed after it; Django knows no models of these tables and would leave them."""
    if sender.label == "collectors":
        with connection.cursor() as cursor:
            cursor.execute(
                "TRUNCATE sample, detail, node_latest, cache_latest, node_trend,"
                " rollup_5m, rollup_1h, rollup_8h, rollup_mark, rollup_late,"
                " cloud_sample, cloud_rollup_5m, cloud_rollup_1h, cloud_rollup_due"
            )


@pytest.fixture(autouse=True)
def english() -> None:
    """Every test begins in English: a page read in Japanese leaves its language to the thread."""
    translation.activate(settings.LANGUAGE_CODE)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A throw-away folder with a name short enough for Unix sockets."""
    path = Path(tempfile.mkdtemp(prefix="sw-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def valkey_server(tmp_path: Path) -> Iterator[ValkeyFactory]:
    """Start real servers: `valkey_server("--requirepass", "x", port=None)` returns a launcher.valkey.Valkey."""
    started: list[Valkey] = []

    def start(*options: str, port: int | None = None) -> Valkey:
        started.append(valkey.start_valkey(tmp_path / f"valkey-{len(started)}", *options, port=port))
        return started[-1]

    yield start
    valkey.stop_all(started)


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[ValkeyFactory]:
    """Start Debian's redis-server, which has TLS and jemalloc; options as for valkey_server."""
    program = Path(needed_program("redis-server"))
    started: list[Valkey] = []

    def start(*options: str, port: int | None = None) -> Valkey:
        started.append(valkey.start_valkey(tmp_path / f"redis-{len(started)}", *options, port=port, program=program))
        return started[-1]

    yield start
    valkey.stop_all(started)


@pytest.fixture
def memcached_server(tmp_path: Path) -> Iterator[MemcachedFactory]:
    """Start Debian's memcached: `memcached_server("-m", "2")`."""
    program = needed_program("memcached")
    started: list[Memcached] = []

    def start(*options: str) -> Memcached:
        log = tmp_path / f"memcached-{len(started)}.log"
        started.append(memcached.start_memcached(log, *options, path=program))
        return started[-1]

    yield start
    memcached.stop_all(started)


@pytest.fixture(scope="session")
def valkey_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Valkey]]:
    """Three primaries, then their three replicas, for all tests of a run: leave it as you found it."""
    nodes = valkey.start_cluster(tmp_path_factory.mktemp("cluster"))
    yield nodes
    valkey.stop_all(nodes)


@pytest.fixture
def own_valkey_cluster(tmp_path: Path) -> Iterator[ClusterFactory]:
    """Start clusters that a test may break: `own_valkey_cluster("--option", "x", shards=3, replicas=1)`."""
    started: list[Valkey] = []

    def start(*options: str, shards: int = 3, replicas: int = 1) -> list[Valkey]:
        nodes = valkey.start_cluster(tmp_path / f"cluster-{len(started)}", *options, shards=shards, replicas=replicas)
        started.extend(nodes)
        return nodes

    yield start
    valkey.stop_all(started)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    return needed_program("chromium")


def needed_program(name: str) -> str:
    """Return its path; fail the test where it is missing, skip it where the run was told to do without."""
    if name in parts.left_out():
        pytest.skip(f"told to do without {name}")
    path = parts.PARTS[name].find()
    if path is None:
        pytest.fail(f"{name} is not installed; bin/test installs it as root, bin/test --without {name} does without")
    return path
