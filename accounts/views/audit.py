"""Who did what, for administrators."""

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.access import admin_required
from accounts.audit import action_words, detail_words
from accounts.models import AuditEntry

PAGE_SIZE = 100


@admin_required
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("text", "").replace("\0", "").strip()
    before = request.GET.get("before", "")
    entries = AuditEntry.objects.order_by("-id")
    if text:
        entries = entries.filter(Q(username__icontains=text) | Q(target__icontains=text) | Q(action__icontains=text))
    if before.isdecimal():
        entries = entries.filter(id__lt=int(before))
    page = list(entries[: PAGE_SIZE + 1])
    rows = [(entry, action_words(entry), detail_words(entry)) for entry in page[:PAGE_SIZE]]
    # Further pages go on from the last row seen: rows that arrive meanwhile shift nothing.
    older = page[PAGE_SIZE - 1].pk if len(page) > PAGE_SIZE else None
    return render(request, "accounts/audit.html", {"rows": rows, "text": text, "older": older})
