"""The dead man's switch: a service outside hears from us as long as collecting, judging and sending all work.

When we fall silent it calls somebody by its own means. The ping leaves from the sender, by the road of messages.
"""

from collections.abc import Iterator

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from alerts import http, readiness, self_tests
from alerts.causes import sentence
from alerts.http import Answer, Request
from alerts.pulse import Pulse
from collectors import readiness as collecting


def troubles() -> Iterator[str]:
    """Yield, as sentences, what keeps pages from reaching people."""
    checks = [*collecting.database_checks(), *readiness.checks(), self_tests.check(timezone.now())]
    yield from (check.sentence for check in checks if not check.ok)


def beat() -> None:
    """Ping once if everything works; write down that we did, or why not."""
    if not settings.HEARTBEAT_URL:
        return
    found = list(troubles())
    Pulse.note(timezone.now(), " ".join(found) or answer_to_ping())


def answer_to_ping() -> str:
    """Ping, and return what went wrong with it; "" where the service took it."""
    url = settings.HEARTBEAT_URL
    answer = http.post(Request(url, b"", secrets=(url,)))
    if not isinstance(answer, Answer):
        return sentence(answer.cause, answer.words)
    return "" if 200 <= answer.status < 300 else _("The service answered %(status)d.") % {"status": answer.status}
