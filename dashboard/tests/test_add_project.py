import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from collectors.cloud.models import CloudProject
from collectors.tests.discovery_cast import Estate, estate
from collectors.tests.test_cloud_identities import EMAIL, key_of_account

pytestmark = pytest.mark.django_db


@pytest.fixture
def google(settings: Any) -> Iterator[Estate]:
    with estate() as made:
        settings.GOOGLE_ENDPOINT = made.emulator.address
        yield made


def add(*arguments: str) -> str:
    call_command("add_project", *arguments, stdout=(out := StringIO()))
    return out.getvalue()


def test_it_tests_and_adds(google: Estate) -> None:
    google.emulator.faults.deny("Memorystore/ListInstances")

    told = add("shop-prod", "--product", "redis", "--product", "valkey", "--approve", "all")

    assert "ok      Memorystore for Redis: It answers: 0 instances." in told
    assert "--role=roles/memorystore.viewer" in told
    assert told.endswith("shop-prod is added. It is looked into within a minute.\n")
    project = CloudProject.objects.get()
    assert (project.products, project.approve) == (["redis", "valkey"], "all")


def test_it_does_not_mind_being_run_again() -> None:
    add("shop-prod", "--no-test")

    assert add("shop-prod", "--no-test") == "shop-prod is here already.\n"


def test_it_takes_rules_and_a_metrics_scope() -> None:
    rule = ("--approve", "rule", "--approve-label", "team=shop", "--approve-names", "shop-*")

    add("shop-prod", "--no-test", *rule, "--metrics-project", "shop-metrics", "--reach", "service", "--interval", "300")

    project = CloudProject.objects.get()
    assert (project.approve_labels, project.approve_names) == ({"team": "shop"}, "shop-*")
    assert (project.metrics_project, project.reach, project.interval_seconds) == ("shop-metrics", "service", 300)


def test_it_reads_the_key_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(json.dumps(key_of_account()))

    add("shop-prod", "--no-test", "--key-file", str(path))

    project = CloudProject.objects.get()
    assert (project.credentials, project.principal) == ("key", EMAIL)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Shop",), "A project id has"),
        (("shop-prod", "--key-file", "/nowhere"), "cannot be read"),
        (("shop-prod", "--approve", "rule"), "needs labels or names"),
        (("shop-prod", "--approve-label", "team"), "has no value"),
        (("shop-prod", "--credentials", "magic"), "invalid choice"),
    ],
)
def test_it_refuses_with_a_sentence(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        add(*arguments, "--no-test")

    assert not CloudProject.objects.exists()
