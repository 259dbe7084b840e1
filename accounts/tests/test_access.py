import pytest

from accounts.models import Role
from accounts.tests.cast import client_of

pytestmark = pytest.mark.django_db

ADMIN_PAGES = ["/users/", "/audit/"]
OPERATOR_PAGES = ["/caches/new/"]


@pytest.mark.parametrize("path", ADMIN_PAGES)
@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.OPERATOR, 403), (Role.ADMIN, 200)])
def test_it_opens_pages_of_administrators_to_them_alone(path: str, role: str, status: int) -> None:
    assert client_of(role).get(path).status_code == status


@pytest.mark.parametrize("path", OPERATOR_PAGES)
@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.OPERATOR, 200), (Role.ADMIN, 200)])
def test_it_opens_pages_of_operators_to_them_and_administrators(path: str, role: str, status: int) -> None:
    assert client_of(role).get(path).status_code == status


def test_it_says_in_a_sentence_why_a_page_is_closed() -> None:
    response = client_of(Role.VIEWER).get("/users/")

    assert "Only an administrator may do this." in response.content.decode()


@pytest.mark.parametrize("path", ["/users/new/", "/users/1/role/", "/users/1/deactivate/", "/users/1/password/"])
def test_it_changes_nothing_for_a_get(path: str) -> None:
    assert client_of(Role.ADMIN).get(path).status_code == 405
