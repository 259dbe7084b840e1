"""Keys with which applications read switches: shown once, two valid at a time, revoked at once."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from dashboard.switch_form import ClientKeyForm
from switches import client_keys
from switches.models import ClientKey

SHOWN = 500


@operator_required
@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    return keys_page(request, ClientKeyForm())


def keys_page(request: HttpRequest, form: ClientKeyForm, **more: Any) -> HttpResponse:
    found = ClientKey.objects.all()[:SHOWN]
    valid = [key for key in found if key.revoked_at is None]
    revoked = [key for key in found if key.revoked_at is not None]
    context = {"form": form, "valid": valid, "revoked": revoked, "tab": "keys", **more}
    return render(request, "dashboard/client_keys.html", context, status=400 if form.errors else 200)


@operator_required
@never_cache
@require_POST
def issue(request: HttpRequest) -> HttpResponse:
    form = ClientKeyForm(request.POST)
    if form.is_valid():
        try:
            key, text = client_keys.issue(signed_in(request), form.cleaned_data["name"], form.patterns())
        except ValidationError as error:
            form.refuse(error)
        else:
            return keys_page(request, ClientKeyForm(), new_key=key, new_key_text=text)
    return keys_page(request, form)


@operator_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    key = get_object_or_404(ClientKey, pk=pk)
    if client_keys.revoke(signed_in(request), key):
        messages.success(request, _("The key is revoked: it is shut out within a second."))
    return redirect("client-keys")
