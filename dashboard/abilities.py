"""Pages about what the servers of a cache do not have: they say so instead of showing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SENTENCES: dict[str, StrOrPromise] = {
    "command_statistics": _("%(engine)s does not count calls and times by command."),
    "slow_log": _("%(engine)s keeps no slow log."),
    "key_scans": _("%(engine)s has no command to walk through its keys."),
}


def page_without(request: HttpRequest, cache: Cache, ability: str, tab: str) -> HttpResponse | None:
    """Return the page that says what the servers lack, None where they do not."""
    if getattr(cache.abilities, ability):
        return None
    sentence = str(SENTENCES[ability]) % {"engine": cache.get_engine_display()}
    return render(request, "dashboard/without.html", {"cache": cache, "tab": tab, "sentence": sentence})
