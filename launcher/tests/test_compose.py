"""docker-compose.yml: no engine runs here, so its form is checked, and that its commands are those of bin/up."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from launcher import processes
from launcher.checkout import ROOT

SCHEMA = Path(__file__).parent / "compose-spec" / "compose-spec-2.16.2.json"
IMAGES_OF_OTHERS = {"postgres", "broker"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return found


def test_it_follows_the_compose_specification(compose: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))

    errors = [f"{list(error.instance_path)}: {error.message}" for error in validator.iter_errors(compose)]

    assert errors == []


def test_the_schema_finds_mistakes(compose: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))

    assert not validator.is_valid({**compose, "services": {"web": {"comand": "granian"}}})


def test_every_process_of_bin_up_runs_with_the_same_command(compose: dict[str, Any]) -> None:
    ours = {
        name: service["command"].split()
        for name, service in compose["services"].items()
        if name not in IMAGES_OF_OTHERS
    }

    assert ours == {
        name: processes.command(name, data="/data", host="0.0.0.0", port=8000)  # noqa: S104 - inside a container
        for name in processes.COMMANDS
    }


def test_nothing_runs_as_root_and_everything_comes_back(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["user"].split(":")[0] not in {"", "0", "root"}, name
        assert service["restart"] in {"unless-stopped", "on-failure"}, name
        assert "healthcheck" in service or name == "prepare", name


def test_secrets_come_from_files(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        named = {
            path.rsplit("/", 1)[1] for key, path in service.get("environment", {}).items() if key.endswith("_FILE")
        }

        assert named == set(service.get("secrets", [])), name
    assert all("file" in secret for secret in compose["secrets"].values())


def test_every_setting_can_be_given_in_one_file_that_may_be_missing(compose: dict[str, Any]) -> None:
    ours = [service for name, service in compose["services"].items() if name not in IMAGES_OF_OTHERS]

    assert all(service["env_file"] == [{"path": ".env", "required": False}] for service in ours)
    for kept_out in (".gitignore", ".dockerignore"):
        assert ".env" in (ROOT / kept_out).read_text(encoding="utf-8").replace("/", "").split()


def test_what_is_set_here_does_not_go_over_that_file(compose: dict[str, Any]) -> None:
    given = compose["services"]["web"]["environment"]
    fixed = {"DATABASE_URL_FILE", "SECRET_KEY_FILE", "SHARDWATCH_ENCRYPTION_KEYS_FILE"}
    fixed |= {"CELERY_BROKER_URL", "SHARDWATCH_SWITCHES_COPY"}

    assert all("${SHARDWATCH_" in value for name, value in given.items() if name not in fixed)


def test_the_web_server_is_published_on_loopback_unless_told_otherwise(compose: dict[str, Any]) -> None:
    assert compose["services"]["web"]["ports"] == ["${SHARDWATCH_BIND:-127.0.0.1}:${SHARDWATCH_PORT:-8000}:8000"]
