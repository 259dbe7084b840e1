from django.urls import path

from dashboard.views import alerts, incidents

urlpatterns = [
    path("alerts/", alerts.alerts, name="alerts"),
    path("alerts/history/", alerts.history, name="alerts-history"),
    path("alerts/history/export/", alerts.export_history, name="alerts-export"),
    path("incidents/<int:pk>/", incidents.incident, name="incident"),
    path("incidents/<int:pk>/acknowledge/", incidents.acknowledge, name="incident-acknowledge"),
    path("incidents/<int:pk>/note/", incidents.add_note, name="incident-note"),
    path("incidents/<int:pk>/close/", incidents.close, name="incident-close"),
]
