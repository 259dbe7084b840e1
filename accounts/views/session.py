"""Signing in and out."""

from typing import Any

from axes.helpers import get_cool_off, get_failure_limit
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.timesince import timeuntil

from accounts.access import signed_in
from accounts.forms import SignInForm
from accounts.models import AuditEntry


class SignIn(LoginView):
    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        AuditEntry.record(signed_in(self.request), "session.open")
        return response


class SignOut(LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        AuditEntry.record(signed_in(request), "session.close")
        return super().post(request, *args, **kwargs)


def locked_out(request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None) -> HttpResponse:
    """Answer a sign-in that django-axes refuses; every further try starts the wait again."""
    cool_off = get_cool_off(request)
    now = timezone.now()
    context = {
        "limit": get_failure_limit(request, credentials),
        "wait": timeuntil(now + cool_off, now) if cool_off else "",
    }
    return render(request, "accounts/locked_out.html", context, status=429)
