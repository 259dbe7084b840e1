"""Which pages the browser tests look at: all that there are, with what has to be made before there is such a page."""

import json

from dashboard.tests.product import Product

PAGES = (
    "/",
    "/?view=tiles",
    "/caches/game-cache/",
    "/caches/game-cache/?by=node",
    "/caches/session-store/",
    "/caches/new/",
    "/caches/game-cache/edit/",
    "/caches/game-cache/delete/",
    "/caches/game-cache/commands/?nodes=all&command=get",
    "/caches/game-cache/events/",
    "/events/",
    "/alerts/",
    "/alerts/history/?span=30d",
    "/rules/",
    "/rules/memory-near-limit/",
    "/rules/new/?yaml",
    "/silences/?matchers=cache=game-cache",
    "/routes/",
    "/scans/",
    "/caches/game-cache/scans/?preview=1",
    "/switches/",
    "/new-switch/",
    "/client-keys/",
    "/switches/looked-at/",
    "/switches/looked-at/instances/",
    "/switches/looked-at/changes/",
    "/switches/looked-at/run-book/",
    "/health/",
    "/account/",
    "/users/",
    "/audit/",
)
MORE = (
    "/channels/",
    "/channels/new/slack/",
    "/channels/{channel}/",
    "/channels/{channel}/edit/",
    "/acknowledge/{link}/",
    "/incidents/{incident}/",
    "/windows/",
    "/routes/{route}/new/",
    "/routes/{route}/edit/",
    "/switches/looked-at/edit/",
    "/switches/looked-at/run-book/{book}/",
    "/caches/game-cache/latency/",
    "/caches/game-cache/clients/",
    "/caches/game-cache/balance/",
    "/caches/game-cache/internals/",
    "/caches/game-cache/slowlog/",
    "/caches/game-cache/readiness/",
    "/readiness/",
    "/events/{event}/",
    "/scans/{scan}/",
    "/scans/{scan}/compare/",
    "/scans/{scan}/keys/{key}/",
    "/projects/",
    "/projects/new/",
    "/projects/demo-project/",
    "/projects/demo-project/edit/",
    "/projects/demo-project/delete/",
)
# Parts of pages, and what is no page; each visit begins with the page to sign in.
NOT_VISITED = {"login", "route-test", "route-preview", "route-new-preview", "window-preview", "silence-preview"}
# A switch that is off, with an instance that has not applied it.
OFF = """
from django.utils import timezone
from fleet.models import Cache
from switches import changing
from switches.changing import Why
from switches.models import Instance, Switch
if not Switch.objects.filter(key="looked-at").exists():
    cache, now = Cache.objects.get(name="session-store"), timezone.now()
    made = changing.create("setup", "looked-at", {"cache_now": cache}, Why("new"))
    changing.turn_off(made, "setup", Why("it evicts"))
    Instance.objects.create(switch=made, name="pod-1", revision=1, address="10.0.0.1", first_seen_at=now, seen_at=now)
"""
REST = """
import json
from django.core import signing
from alerts.acknowledge_links import SALT
from alerts.models import Channel, Incident
from alerts.route import Tree
from collectors.event import Event
from dashboard.tests.scan_cast import stored, usual_keys
from fleet.secrets import Secret
from switches.models import RunBook
cache, made, now = Cache.objects.get(name="session-store"), Switch.objects.get(key="looked-at"), timezone.now()
secret = Secret.of(json.dumps({"url": "https://pager.example.org/hook", "secret": "x" * 20}))
channel, _ = Channel.objects.get_or_create(name="looked-at", defaults={"kind": "webhook", "settings": secret})
about = {"title": "It is full", "severity": "critical", "reason": "threshold", "cache": cache, "cache_name": cache.name}
incident, _ = Incident.objects.get_or_create(subject="looked-at", defaults=about | {"opened_at": now})
event, _ = Event.objects.get_or_create(cache=cache, kind="deploy", title="Release", source="person")
past = {"reason": "it was full", "author": "setup", "step": "done", "percents": [5, 100], "step_at": now, "revision": 1}
book, _ = RunBook.objects.get_or_create(switch=made, **past)
_, scan = stored(cache, usual_keys(), days=1), stored(cache, usual_keys(2))
found = {"channel": channel, "incident": incident, "event": event, "book": book, "scan": scan}
numbers = {name: row.pk for name, row in found.items()}
numbers |= {"route": Tree.load().children[None][0].pk, "key": scan.top_keys.first().pk}
print(json.dumps(numbers | {"link": signing.dumps([incident.pk, channel.pk], salt=SALT)}))
"""


def more(product: Product) -> tuple[str, ...]:
    """Make what the rest of the pages are about; return their addresses."""
    numbers = json.loads(product.manage("shell", "-v", "0", "-c", OFF + REST))
    return tuple(path.format(**numbers) for path in MORE)
