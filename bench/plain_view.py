"""A peer of the switches' read path: the plainest Django view that reads a row."""

from django.http import HttpRequest, JsonResponse
from django.urls import path

from switches.models import Switch


def state(request: HttpRequest, key: str) -> JsonResponse:
    row = Switch.objects.values("key", "percent", "revision", "ttl_seconds").get(key=key)
    return JsonResponse({**row, "can_use": row["percent"] > 0})


urlpatterns = [path("switches/<str:key>", state)]
