import pytest
from django.test import Client

from accounts.models import Role
from accounts.tests.cast import client_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address", ["/caches/%00/", "/caches/a%00/edit/", "/?q=%00", "/health/?cache=%00", "/api/v1/caches/%00"]
)
def test_it_refuses_nul_in_addresses(address: str) -> None:
    assert client_of(Role.OPERATOR).get(address).status_code == 400


def test_it_refuses_nul_in_cookies() -> None:
    answer = Client().get("/", headers={"Cookie": 'shardwatch_session="abcdefgh\\000"'})

    assert answer.status_code == 400
