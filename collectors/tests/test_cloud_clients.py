import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError

from collectors.cloud import clients
from collectors.cloud.clients import Clients, brief_retry, clients_of, forget
from collectors.cloud.errors import CloudCause, CloudError
from collectors.cloud.models import CloudProject
from collectors.cloud.products import Product
from collectors.tests.discovery_cast import Estate, estate

ATTRIBUTES = ("redis", "redis_cluster", "valkey", "memcached", "metrics")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def google() -> Iterator[Estate]:
    with estate() as made:
        yield made


def project(pk: int | None = None, **fields: str | int) -> CloudProject:
    return CloudProject(pk=pk, project_id="shop-prod", **fields)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_each_client_is_made_once(attribute: str) -> None:
    made = Clients(project(endpoint="127.0.0.1:1"))

    assert getattr(made, attribute) is getattr(made, attribute)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_clients_of_google_are_made_as_the_packages_do(attribute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "credentials_of", lambda _: AnonymousCredentials())

    client = getattr(Clients(project()), attribute)

    assert client.transport.kind == "grpc"
    assert client.transport.host.endswith(".googleapis.com:443")


def test_calls_reach_the_emulator(google: Estate) -> None:
    google.add(Product.REDIS)

    made = Clients(project(endpoint=google.emulator.address))

    pages = made.redis.list_instances(request={"parent": "projects/shop-prod/locations/-"}, timeout=5)
    assert [one.name.rpartition("/")[2] for one in pages] == ["carts"]


def test_a_project_keeps_its_clients_until_it_changes() -> None:
    first = clients_of(project(91_001, endpoint="127.0.0.1:1"))

    assert clients_of(project(91_001, endpoint="127.0.0.1:1")) is first
    assert clients_of(project(91_001, endpoint="127.0.0.1:1", revision=2)) is not first
    forget(91_001)


def test_a_project_that_is_not_stored_keeps_nothing() -> None:
    assert clients_of(project()) is not clients_of(project())


def test_another_process_makes_clients_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    first = clients_of(project(91_002))
    monkeypatch.setattr(os, "getpid", lambda: 1)

    assert clients_of(project(91_002)) is not first
    forget(91_002)


def test_missing_credentials_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")

    with pytest.raises(CloudError) as raised:
        _ = Clients(project()).redis

    assert raised.value.cause is CloudCause.NO_CREDENTIALS


def test_credentials_are_looked_for_once_for_all_services(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse() -> None:
        asked.append(1)
        raise DefaultCredentialsError("Nothing here.")

    monkeypatch.setattr(clients, "machine_credentials", refuse)
    made = Clients(project())

    for attribute in ATTRIBUTES:
        with pytest.raises(CloudError, match="application default"):
            getattr(made, attribute)

    assert len(asked) == 1


def test_a_service_that_restarts_is_asked_again(google: Estate) -> None:
    google.emulator.faults.unavailable("CloudRedis/ListInstances", times=1)
    made = Clients(project(endpoint=google.emulator.address))

    made.redis.list_instances(request={"parent": "projects/shop-prod/locations/-"}, timeout=5, retry=brief_retry())

    assert len(google.emulator.asked("ListInstances")) == 2


def test_processes_load_no_package_that_few_of_them_need() -> None:
    script = (
        "import django, sys; django.setup();"
        "import config.urls, config.celery, collectors.tasks, collectors.cloud.discovery, alerts.sender;"
        "rare = ('grpc.', 'google.cloud.', 'google.api_core', 'apprise');"
        "print([name for name in sys.modules if name.startswith(rare)])"
    )
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert found.stdout.strip() == "[]", found.stderr
