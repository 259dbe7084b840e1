"""The own account: password, time zone, API tokens."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts import tokens
from accounts.access import signed_in
from accounts.forms import OwnPasswordForm, TimeZoneForm, TokenForm
from accounts.models import ApiToken, AuditEntry


@require_GET
def account(request: HttpRequest) -> HttpResponse:
    return account_page(request)


@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    form = OwnPasswordForm(user, request.POST)
    if not form.is_valid():
        return account_page(request, password_form=form)
    form.save()
    # The session at hand goes on; all others end.
    update_session_auth_hash(request, user)
    AuditEntry.record(user, "account.password", user.username)
    messages.success(request, _("Your password has been changed and your other sessions have ended."))
    return redirect("account")


@require_POST
def choose_time_zone(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    form = TimeZoneForm(request.POST)
    if not form.is_valid():
        return account_page(request, time_zone_form=form)
    user.time_zone = form.cleaned_data["time_zone"]
    user.save(update_fields=["time_zone"])
    AuditEntry.record(user, "account.time_zone", user.username, time_zone=user.time_zone)
    messages.success(request, _("Times are now shown in this time zone."))
    return redirect("account")


@never_cache
@require_POST
def create_token(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST)
    if not form.is_valid():
        return account_page(request, token_form=form)
    user = signed_in(request)
    token, text = tokens.create(user, form.cleaned_data["name"], form.expires_at(), by=user)
    # No redirect: the text must not be kept anywhere, not even in a session.
    return account_page(request, new_token=token, new_token_text=text)


@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    user = signed_in(request)
    token = get_object_or_404(ApiToken.objects.usable(), pk=token_id, user=user)
    tokens.revoke(user, token)
    messages.success(request, _("The token “%(name)s” has been revoked.") % {"name": token.name})
    return redirect("account")


def account_page(request: HttpRequest, **given: Any) -> HttpResponse:
    user = signed_in(request)
    context = {
        "password_form": OwnPasswordForm(user),
        "time_zone_form": TimeZoneForm(initial={"time_zone": user.time_zone}),
        "token_form": TokenForm(),
        "tokens": ApiToken.objects.usable().filter(user=user),
        **given,
    }
    failed = any(name.endswith("_form") for name in given)
    return render(request, "accounts/account.html", context, status=400 if failed else 200)
