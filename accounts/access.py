"""Who may open a page: decorators for views."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.models import Role, User

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def role_sentence(role: str) -> str:
    """Return why somebody below this role is refused, and what to do."""
    if role == Role.ADMIN:
        return _("Only an administrator may do this. Ask an administrator to do it or to give you the role.")
    return _("Only an operator or an administrator may do this. Ask an administrator to give you the role.")


def signed_in(request: HttpRequest) -> User:
    """Return the user of a request that LoginRequiredMiddleware or a token let through."""
    user = request.user
    assert isinstance(user, User)
    return user


def role_required(role: Role) -> Callable[[View[P]], View[P]]:
    """Make a decorator: visitors go to the sign-in page, users below the role see a 403 page with the reason."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not isinstance(request.user, User):
                return redirect_to_login(request.get_full_path())
            if not request.user.has_role(role):
                raise PermissionDenied(role_sentence(role))
            return view(request, *args, **kwargs)

        return guarded

    return decorate


operator_required = role_required(Role.OPERATOR)
admin_required = role_required(Role.ADMIN)
