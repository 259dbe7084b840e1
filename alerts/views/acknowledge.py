"""The page behind a signed link: it asks, and only its button acknowledges, for programs follow links, too."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from alerts import acknowledge_links, incident_acts
from alerts.acknowledge_links import LinkError


# The link itself is what gives the right: whoever could make a browser post it has it already.
@csrf_exempt
@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def acknowledge(request: HttpRequest, token: str) -> HttpResponse:
    try:
        link = acknowledge_links.read(token)
    except LinkError as error:
        return render(request, "alerts/acknowledge.html", {"trouble": str(error)}, status=403)
    if request.method == "POST":
        incident_acts.acknowledge_by_link(link, timezone.now())
        return redirect("acknowledge", token)
    return render(request, "alerts/acknowledge.html", {"incident": link.incident})
