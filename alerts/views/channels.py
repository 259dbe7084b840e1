"""Channels for administrators: the list with their health, forms, tests and the log of attempts."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import admin_required, signed_in
from alerts import channel_changes, channel_health, self_tests
from alerts.channel_forms import ChannelForm
from alerts.channels import KINDS
from alerts.models import Channel

ATTEMPTS_SHOWN = 100


@admin_required
@require_safe
def channels(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"rows": channel_health.healths(), "kinds": KINDS.values()}
    context |= {"tests": self_tests.results(timezone.now()), "origin": missing_origin(request)}
    return render(request, "alerts/channels.html", context)


@admin_required
@require_POST
def self_test(request: HttpRequest) -> HttpResponse:
    begun = channel_changes.begin_self_tests(signed_in(request))
    words = ngettext("%(count)d self-test is on its way.", "%(count)d self-tests are on their way.", begun)
    messages.success(request, words % {"count": begun})
    return redirect("channels")


@admin_required
@require_safe
def channel(request: HttpRequest, channel_id: int) -> HttpResponse:
    found = get_object_or_404(Channel, pk=channel_id)
    attempts = found.attempts.select_related("delivery__incident")[:ATTEMPTS_SHOWN]
    (row,) = channel_health.healths(pk=found.pk)
    context = {"row": row, "channel": found, "kind": KINDS[found.kind], "attempts": attempts}
    context["settings"] = channel_health.setting_words(found)
    hook = KINDS[found.kind].hook
    context["hook"] = request.build_absolute_uri(reverse(hook, args=[found.pk])) if hook else ""
    return render(request, "alerts/channel.html", context)


@admin_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest, kind: str) -> HttpResponse:
    if kind not in KINDS:
        raise Http404
    form = ChannelForm(request.POST or None, kind=kind)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            about = (given["name"], form.given(), given["fallback"], given["language"])
            made = channel_changes.add(signed_in(request), kind, *about)
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The channel is saved. Send a test to see whether it works."))
            return redirect("channel", made.pk)
    return form_page(request, form)


@admin_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, channel_id: int) -> HttpResponse:
    found = get_object_or_404(Channel, pk=channel_id)
    form = ChannelForm(request.POST or None, kind=found.kind, channel=found)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        revision = given["revision"] or found.revision
        try:
            about = (given["name"], form.given(), given["fallback"], revision, given["language"])
            channel_changes.change(signed_in(request), found, *about)
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The changes are saved."))
            return redirect("channel", found.pk)
    return form_page(request, form)


@admin_required
@require_POST
def delete(request: HttpRequest, channel_id: int) -> HttpResponse:
    found = get_object_or_404(Channel, pk=channel_id)
    channel_changes.delete(signed_in(request), found)
    messages.success(request, _("%(name)s is removed.") % {"name": found.name})
    return redirect("channels")


@admin_required
@require_POST
def test(request: HttpRequest, channel_id: int) -> HttpResponse:
    found = get_object_or_404(Channel, pk=channel_id)
    channel_changes.send_test(signed_in(request), found, request.build_absolute_uri(f"/channels/{found.pk}/"))
    messages.success(request, _("A test is on its way, on the road of real pages. What came of it is below."))
    return redirect("channel", found.pk)


@admin_required
@require_POST
def mend(request: HttpRequest, channel_id: int) -> HttpResponse:
    found = get_object_or_404(Channel, pk=channel_id)
    channel_changes.mend_by_hand(signed_in(request), found)
    messages.success(request, _("%(name)s is tried again.") % {"name": found.name})
    return redirect("channel", found.pk)


def form_page(request: HttpRequest, form: ChannelForm) -> HttpResponse:
    context = {"form": form, "origin": missing_origin(request)}
    return render(request, "alerts/channel_form.html", context, status=400 if form.errors else 200)


def missing_origin(request: HttpRequest) -> str:
    """Return where the reader found us, for links in messages that lead nowhere yet; "" where they do."""
    return "" if settings.PUBLIC_URL else f"{request.scheme}://{request.get_host()}"
