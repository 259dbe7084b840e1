"""What load balancers and supervisors ask."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard import parts


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process serves requests; nothing else is asked."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 where all parts work, else 503; each part with a sentence."""
    checks = parts.checks()
    ready = all(check.ok for check in checks)
    told = [{"name": check.name, "ok": check.ok, "sentence": check.sentence} for check in checks]
    return JsonResponse({"ready": ready, "checks": told}, status=200 if ready else 503)
