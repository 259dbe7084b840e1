"""What people may type into the forms of accounts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.forms import NewUserForm, PasswordForm, RoleForm, SignInForm, TimeZoneForm, TokenForm
from accounts.models import AuditEntry, User
from accounts.tests.cast import PASSWORD, client_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("days", "expected"), [("", None), ("30", 30), ("90", 90), ("365", 365)])
def test_a_token_ends_after_the_chosen_days(days: str, expected: int | None) -> None:
    form = TokenForm({"name": "CI", "days": days})
    assert form.is_valid()

    ends = form.expires_at()

    if expected is None:
        assert ends is None
    else:
        assert abs(ends - timezone.now() - timedelta(days=expected)) < timedelta(minutes=1)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "CI", "days": "7"}, "days"),
        ({"name": "CI", "days": "-30"}, "days"),
        ({"name": "CI", "days": "30 OR 1=1"}, "days"),
    ],
)
def test_it_says_what_is_wrong_with_a_token(given: dict[str, str], field: str) -> None:
    form = TokenForm(given)

    assert not form.is_valid()
    assert list(form.errors) == [field]


@pytest.mark.parametrize(
    ("zone", "is_valid"),
    [
        ("", True),
        ("UTC", True),
        ("Asia/Tokyo", True),
        ("America/Argentina/Buenos_Aires", True),
        ("asia/tokyo", False),
        ("Asia", False),
        ("../UTC", False),
        ("Asia/Tokyo\0", False),
        ("Factory", False),
        ("localtime", False),
    ],
)
def test_a_time_zone_is_one_of_the_list(zone: str, is_valid: bool) -> None:
    assert TimeZoneForm({"time_zone": zone}).is_valid() == is_valid


@pytest.mark.parametrize(
    ("password", "is_taken"),
    [
        (PASSWORD, True),
        ("  spaces count 9 ", True),
        ("x" * 9, False),
        ("1234567890", False),
        ("x7" * 101, False),
        ("viewer.mika", False),
        ("", False),
    ],
)
def test_a_password_is_long_and_not_guessed_easily(password: str, is_taken: bool) -> None:
    form = PasswordForm({"password": password}, person=User(username="viewer.mika"))

    assert form.is_valid() == is_taken


def test_spaces_around_a_password_are_part_of_it() -> None:
    form = NewUserForm({"username": "mika", "role": "viewer", "password": "  a long phrase  "})

    assert form.is_valid()
    assert form.cleaned_data["password"] == "  a long phrase  "


def test_a_password_like_the_new_name_is_refused() -> None:
    form = NewUserForm({"username": "mikasato2000", "role": "viewer", "password": "mikasato2000"})

    assert list(form.errors) == ["password"]


@pytest.mark.parametrize(("length", "is_valid"), [(150, True), (151, False), (10_000, False)])
def test_a_name_has_an_end(length: int, is_valid: bool) -> None:
    form = NewUserForm({"username": "x" * length, "role": "viewer", "password": PASSWORD})

    assert form.is_valid() == is_valid


def test_signing_in_with_an_endless_name_is_a_wrong_name() -> None:
    form = SignInForm(data={"username": "x" * 151, "password": PASSWORD})

    assert not form.is_valid()
    assert "correct username and password" in str(form.errors)


@pytest.mark.parametrize(("role", "is_valid"), [("viewer", True), ("operator", True), ("admin", True), ("", False)])
def test_a_role_is_one_of_three(role: str, is_valid: bool) -> None:
    assert RoleForm({"role": role}).is_valid() == is_valid


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/account/tokens/", {"name": "", "days": "30"}),
        ("/account/time-zone/", {"time_zone": "Moon/Base"}),
        ("/account/password/", {"old_password": "wrong", "new_password1": "a", "new_password2": "b"}),
    ],
)
def test_a_refused_form_is_shown_again_and_leaves_no_trace(path: str, given: dict[str, str]) -> None:
    answer = client_of().post(path, given)

    assert answer.status_code == 400
    assert "is-invalid" in answer.content.decode()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "\u202egnp.exe", "'; DROP TABLE", "名前"])
def test_a_token_with_a_hostile_name_is_shown_as_text(name: str) -> None:
    client = client_of()

    page = client.post("/account/tokens/", {"name": name}).content.decode()

    assert "<script>alert" not in page
    assert AuditEntry.objects.get().target == name


def test_an_empty_choice_brings_back_the_zone_of_the_browser() -> None:
    client = client_of()
    client.post("/account/time-zone/", {"time_zone": "Asia/Tokyo"})

    client.post("/account/time-zone/", {"time_zone": ""})

    assert User.objects.get().time_zone == ""
