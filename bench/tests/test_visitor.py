import gzip
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from bench.visitor import Person, Visitor


@pytest.fixture
def visitor(live_server: LiveServer) -> Iterator[Visitor]:
    made = Visitor(urlsplit(live_server.url).port or 0)
    yield made
    made.connection.close()


def test_a_visitor_signs_in_and_reads_a_page(visitor: Visitor) -> None:
    person = Person()
    User.objects.create_user(person.name, password=person.password)

    visitor.sign_in(person)

    assert b"Sign out" in gzip.decompress(visitor.get("/").body)


def test_a_visitor_who_is_unknown_is_told(visitor: Visitor) -> None:
    with pytest.raises(RuntimeError, match="POST /login/ answered 200"):
        visitor.sign_in(Person())


def test_a_page_that_is_missing_is_told(visitor: Visitor) -> None:
    with pytest.raises(RuntimeError, match="GET /nowhere/ answered"):
        visitor.get("/nowhere/")
