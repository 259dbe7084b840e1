"""The people of the tests."""

from django.test import Client

from accounts.models import ApiToken, Role, User

PASSWORD = "correct horse battery"


def person(role: str = Role.VIEWER, username: str = "") -> User:
    user = User(username=username or str(role), role=role)
    user.set_password(PASSWORD)
    user.save()
    return user


def client_of(role: str = Role.VIEWER) -> Client:
    """Return a browser in which a user of the role is signed in."""
    client = Client()
    client.force_login(User.objects.filter(username=str(role)).first() or person(role))
    return client


def bearer_of(role: str = Role.VIEWER) -> dict[str, str]:
    """Return the headers of a caller of the API with the role."""
    user = User.objects.filter(username=str(role)).first() or person(role)
    return {"Authorization": f"Bearer {ApiToken.issue(user, 'test')[1]}"}
