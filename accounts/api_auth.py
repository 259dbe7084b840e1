"""Who calls the API: the owner of a bearer token, or the user of a session (with CSRF on writes)."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja.errors import AuthenticationError, AuthorizationError
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from accounts.access import role_sentence
from accounts.models import ApiToken, Role, User

SCHEME = "bearer"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


class BearerToken(AuthBase):
    """`Authorization: Bearer sw_…`: acts as the token's owner."""

    openapi_type = "http"
    openapi_scheme = SCHEME

    def __init__(self, role: Role) -> None:
        self.role = role
        super().__init__()

    def __call__(self, request: HttpRequest) -> User | None:
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        scheme, _space, text = header.partition(" ")
        user = ApiToken.user_of(text.strip()) if scheme.lower() == SCHEME else None
        if user is None:
            raise AuthenticationError(message=_("The token is unknown, expired or revoked."))
        request.user = user
        return with_role(user, self.role)


class Session(AuthBase):
    """The session cookie of the pages; writes carry the CSRF token in X-CSRFToken."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = settings.SESSION_COOKIE_NAME

    def __init__(self, role: Role) -> None:
        self.role = role
        super().__init__()

    def __call__(self, request: HttpRequest) -> User | None:
        if not isinstance(request.user, User):
            return None
        if request.method not in SAFE_METHODS and check_csrf(request):
            raise AuthorizationError(message=_("The CSRF token is missing or wrong; send it in X-CSRFToken."))
        return with_role(request.user, self.role)


def with_role(user: User, role: Role) -> User:
    if not user.has_role(role):
        raise AuthorizationError(message=role_sentence(role))
    return user


def callers(role: Role = Role.VIEWER) -> list[Any]:
    """Return the ways to call an operation that needs the role."""
    return [BearerToken(role), Session(role)]
