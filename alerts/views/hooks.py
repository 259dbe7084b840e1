"""Addresses that services call, which have no person and no cookie: what they send is signed."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from alerts import pagerduty_hooks
from alerts.channels.pagerduty import PagerDuty
from alerts.models import Channel


@csrf_exempt
@login_not_required
@require_POST
def pagerduty(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Take what PagerDuty tells; strangers do not learn which channels there are."""
    channel, content = Channel.objects.filter(pk=channel_id, kind=PagerDuty.name).first(), request.body
    signatures = request.headers.get("X-PagerDuty-Signature", "")
    if channel is None or not pagerduty_hooks.is_signed(channel, content, signatures):
        return HttpResponse("The signature is not that of this channel.\n", status=403, content_type="text/plain")
    pagerduty_hooks.take_in(channel, content, timezone.now())
    return HttpResponse(status=202)
