from django.urls import path

from alerts.views import acknowledge, channels, hooks

urlpatterns = [
    path("acknowledge/<str:token>/", acknowledge.acknowledge, name="acknowledge"),
    path("hooks/pagerduty/<int:channel_id>/", hooks.pagerduty, name="hook-pagerduty"),
    path("channels/", channels.channels, name="channels"),
    path("channels/self-test/", channels.self_test, name="self-test"),
    path("channels/new/<slug:kind>/", channels.new, name="channel-new"),
    path("channels/<int:channel_id>/", channels.channel, name="channel"),
    path("channels/<int:channel_id>/edit/", channels.edit, name="channel-edit"),
    path("channels/<int:channel_id>/delete/", channels.delete, name="channel-delete"),
    path("channels/<int:channel_id>/test/", channels.test, name="channel-test"),
    path("channels/<int:channel_id>/mend/", channels.mend, name="channel-mend"),
]
