from django.urls import path

from dashboard.views import client_keys, run_books, switch_acts, switches

urlpatterns = [
    path("switches/", switches.switches, name="switches"),
    path("new-switch/", switches.new, name="switch-new"),
    path("switches/<str:key>/", switches.switch, name="switch"),
    path("switches/<str:key>/edit/", switches.edit, name="switch-edit"),
    path("switches/<str:key>/instances/", switches.instances, name="switch-instances"),
    path("switches/<str:key>/changes/", switches.changes, name="switch-changes"),
    path("switches/<str:key>/off/", switch_acts.off, name="switch-off"),
    path("switches/<str:key>/on/", switch_acts.on, name="switch-on"),
    path("switches/<str:key>/repoint/", switch_acts.repoint, name="switch-repoint"),
    path("switches/<str:key>/retire/", switch_acts.retire, name="switch-retire"),
    path("switches/<str:key>/auto-off/", switch_acts.auto_off, name="switch-auto-off"),
    path("switches/<str:key>/run-book/", run_books.run_book, name="run-book"),
    path("switches/<str:key>/run-book/begin/", run_books.begin, name="run-book-begin"),
    path("switches/<str:key>/run-book/<int:pk>/", run_books.past_run_book, name="run-book-past"),
    path("switches/<str:key>/run-book/<int:pk>/<str:what>/", run_books.act, name="run-book-act"),
    path("switches/<str:key>/plans/", switch_acts.plan, name="switch-plan"),
    path("switches/<str:key>/plans/<int:pk>/cancel/", switch_acts.cancel_plan, name="plan-cancel"),
    path("switches/<str:key>/plans/<int:pk>/extend/", switch_acts.extend_plan, name="plan-extend"),
    path("switches/<str:key>/proposals/<int:pk>/approve/", switch_acts.approve, name="proposal-approve"),
    path("switches/<str:key>/proposals/<int:pk>/decline/", switch_acts.decline, name="proposal-decline"),
    path("client-keys/", client_keys.keys, name="client-keys"),
    path("client-keys/issue/", client_keys.issue, name="client-key-issue"),
    path("client-keys/<int:pk>/revoke/", client_keys.revoke, name="client-key-revoke"),
]
