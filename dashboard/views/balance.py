"""How evenly the shards, slots and keys of a cache are used, and looking for hot keys now."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from dashboard.balance import balance_of, look_now
from fleet.models import Cache


@require_safe
def cache_balance(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    context = {"cache": cache, "balance": balance_of(cache), "interval": settings.HOT_KEYS_INTERVAL_SECONDS}
    return render(request, "dashboard/balance.html", context)


@operator_required
@require_POST
def look_for_hot_keys(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    if refused := look_now(signed_in(request), cache):
        messages.warning(request, refused)
    else:
        messages.success(request, _("The keys were looked at."))
    return redirect("cache-balance", cache.name)
