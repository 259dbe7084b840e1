from django.urls import include, path

from config.api import api, with_tokens
from dashboard.views import cache_edit, exposition, probes

handler400 = "config.errors.bad_request"
handler403 = "config.errors.forbidden"
handler404 = "config.errors.not_found"
handler500 = "config.errors.server_error"

urlpatterns = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", exposition.metrics, name="metrics"),
    path("metrics/fleet", exposition.fleet_metrics, name="fleet-metrics"),
    path("api/v1/", with_tokens(api.urls)),
    path("", include("accounts.urls")),
    path("caches/new/", cache_edit.new, name="cache-new"),
    path("caches/test/", cache_edit.test, name="cache-test"),
    path("caches/<str:name>/edit/", cache_edit.edit, name="cache-edit"),
    path("caches/<str:name>/delete/", cache_edit.delete, name="cache-delete"),
    path("", include("alerts.channel_urls")),
    path("", include("dashboard.alert_urls")),
    path("", include("dashboard.switch_urls")),
    path("", include("dashboard.urls")),
]
