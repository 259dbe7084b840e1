"""What every page promises to browsers."""

import re

import pytest
from django.test import Client

from accounts.models import Role
from accounts.tests.cast import PASSWORD, client_of, person
from fleet.registration import register

PAGES = [
    "/",
    "/health/",
    "/account/",
    "/users/",
    "/audit/",
    "/caches/new/",
    "/caches/game/edit/",
    "/caches/game/delete/",
]
OUTSIDE = re.compile(r"""(?:src|href|action|hx-\w+)=["'](?:https?:)?//""")
INLINE = re.compile(r"""<script(?![^>]*\bsrc=)(?![^>]*type="application/json")|\son\w+=|\sstyle=|<style|javascript:""")

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", PAGES)
def test_it_loads_nothing_from_elsewhere_and_runs_nothing_inline(path: str) -> None:
    register({"name": "game", "address": "redis://a"})

    page = client_of(Role.ADMIN).get(path)

    assert page.status_code == 200
    assert OUTSIDE.findall(page.content.decode()) == []
    assert INLINE.findall(page.content.decode()) == []


def test_it_forbids_inline_code_and_frames() -> None:
    policy = Client().get("/login/")["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_it_guards_the_session_cookie() -> None:
    person()

    answer = Client().post("/login/", {"username": "viewer", "password": PASSWORD})

    cookie = answer.cookies["shardwatch_session"]

    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
