"""`manage.py prepare`, which stands between an empty database and the first page."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from collectors import partitions
from config import collecting
from fleet.models import Cache


@pytest.fixture
def style(settings: Settings, tmp_path: Path) -> Path:
    """One static file, to be collected into an empty folder."""
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.STATICFILES_DIRS = [tmp_path / "static"]
    file = tmp_path / "static" / "style.css"
    file.parent.mkdir()
    file.write_text("body { color: black }")
    return file


def prepare() -> dict[str, Any]:
    reader, writer = os.pipe()
    try:
        call_command("prepare", report=writer)
    finally:
        os.close(writer)
    with os.fdopen(reader) as said:
        report: dict[str, Any] = json.load(said)
    return report


@pytest.mark.django_db
@pytest.mark.parametrize("table", partitions.PARTITIONED)
def test_pollers_find_partitions_to_write_to(table: str, style: Path) -> None:
    with connection.cursor() as cursor:
        for name, _start in partitions.existing(table):
            cursor.execute(f"DROP TABLE {name}")
    partitions.forget_created()

    prepare()

    now = timezone.now()
    spans = [start for _name, start in partitions.existing(table)]
    assert spans[0] <= now
    assert spans[-1] + timedelta(days=partitions.PARTITIONED[table].span_days) > now + timedelta(days=2)
    partitions.forget_created()


@pytest.mark.django_db
def test_it_reports_what_the_launcher_must_know(style: Path) -> None:
    # The demo fleet that its own tests share may be registered.
    Cache.objects.all().delete()

    report = prepare()

    assert User.objects.get(username="admin").check_password(report["password"])
    assert (report["is_empty"], report["has_demo"]) == (True, False)


@pytest.mark.django_db
def test_it_may_be_repeated(style: Path) -> None:
    prepare()
    Cache.objects.all().delete()
    Cache.objects.create(name="demo", address="redis://127.0.0.1:1", is_demo=True)

    report = prepare()

    assert report == {"password": "", "is_empty": False, "has_demo": True}


@pytest.mark.django_db
def test_it_prints_the_password_for_people_only(style: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("prepare")

    assert "The password of admin is" in capsys.readouterr().out
    prepare()
    assert "password" not in capsys.readouterr().out


@pytest.mark.django_db
def test_it_refuses_settings_that_cannot_work(style: Path, settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = []

    with pytest.raises(CommandError, match="SHARDWATCH_ENCRYPTION_KEYS"):
        call_command("prepare")


def test_static_files_are_collected_once_and_again_after_a_change(style: Path) -> None:
    assert collecting.collect_static()
    assert not collecting.collect_static()

    style.write_text("body { color: white }")

    assert collecting.collect_static()


def test_an_interrupted_collection_is_repeated(style: Path, settings: Settings) -> None:
    collecting.collect_static()
    (settings.STATIC_ROOT / collecting.MARKER).unlink()

    assert collecting.collect_static()
