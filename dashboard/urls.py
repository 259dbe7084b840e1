from django.urls import path

from dashboard.views import cache, fleet, health

urlpatterns = [
    path("", fleet.fleet, name="fleet"),
    path("health/", health.health, name="health"),
    path("caches/<str:name>/", cache.cache, name="cache"),
]
