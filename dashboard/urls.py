from django.urls import path

from dashboard.views import balance, cache, clients, commands, events, fleet, health, internals, latency, slowlog

urlpatterns = [
    path("", fleet.fleet, name="fleet"),
    path("health/", health.health, name="health"),
    path("caches/<str:name>/", cache.cache, name="cache"),
    path("caches/<str:name>/commands/", commands.cache_commands, name="cache-commands"),
    path("caches/<str:name>/latency/", latency.cache_latency, name="cache-latency"),
    path("caches/<str:name>/clients/", clients.cache_clients, name="cache-clients"),
    path("caches/<str:name>/clients/read/", clients.read_clients, name="cache-clients-read"),
    path("caches/<str:name>/balance/", balance.cache_balance, name="cache-balance"),
    path("caches/<str:name>/balance/look/", balance.look_for_hot_keys, name="cache-hot-keys-look"),
    path("caches/<str:name>/internals/", internals.cache_internals, name="cache-internals"),
    path("caches/<str:name>/slowlog/", slowlog.cache_slowlog, name="cache-slowlog"),
    path("caches/<str:name>/events/", events.cache_events, name="cache-events"),
    path("caches/<str:name>/events/add/", events.add_cache_note, name="cache-note"),
    path("events/", events.fleet_events, name="fleet-events"),
    path("events/add/", events.add_fleet_note, name="fleet-note"),
    path("events/<int:pk>/", events.event, name="event"),
    path("events/<int:pk>/end/", events.end_note, name="event-end"),
]
