from django.urls import path

from dashboard.views import alerts, incidents, routes, rules, silences

urlpatterns = [
    path("alerts/", alerts.alerts, name="alerts"),
    path("alerts/history/", alerts.history, name="alerts-history"),
    path("alerts/history/export/", alerts.export_history, name="alerts-export"),
    path("incidents/<int:pk>/", incidents.incident, name="incident"),
    path("incidents/<int:pk>/acknowledge/", incidents.acknowledge, name="incident-acknowledge"),
    path("incidents/<int:pk>/note/", incidents.add_note, name="incident-note"),
    path("incidents/<int:pk>/close/", incidents.close, name="incident-close"),
    path("rules/", rules.rules, name="rules"),
    path("rules/new/", rules.new, name="rule-new"),
    path("rules/new/meaning/", rules.meaning, name="rule-new-meaning"),
    path("rules/<slug:key>/", rules.rule, name="rule"),
    path("rules/<slug:key>/save/", rules.save, name="rule-save"),
    path("rules/<slug:key>/meaning/", rules.meaning, name="rule-meaning"),
    path("rules/<slug:key>/switch/", rules.switch, name="rule-switch"),
    path("rules/<slug:key>/overrides/", rules.add_override, name="override-add"),
    path("rules/<slug:key>/overrides/<int:pk>/delete/", rules.delete_override, name="override-delete"),
    path("rules/<slug:key>/delete/", rules.delete, name="rule-delete"),
    path("silences/", silences.silences, name="silences"),
    path("silences/add/", silences.add_silence, name="silence-add"),
    path("silences/preview/", silences.preview, name="silence-preview"),
    path("silences/<int:pk>/end/", silences.end_silence, name="silence-end"),
    path("routes/", routes.routes, name="routes"),
    path("routes/test/", routes.test_route, name="route-test"),
    path("routes/<int:pk>/new/", routes.new, name="route-new"),
    path("routes/<int:pk>/edit/", routes.edit, name="route-edit"),
    path("routes/<int:pk>/steps/add/", routes.add_step, name="step-add"),
    path("routes/<int:pk>/steps/<int:step>/delete/", routes.delete_step, name="step-delete"),
    path("routes/<int:pk>/delete/", routes.delete, name="route-delete"),
]
