"""The dead man's switch: a service outside hears from us as long as collecting, judging and sending all work.

When we fall silent it calls somebody by its own means. The ping leaves from the sender, by the road of messages.
"""

from collections.abc import Iterable, Iterator

from django.conf import settings
from django.utils.translation import gettext as _

from alerts import database_clock, http, readiness, self_tests
from alerts.causes import sentence
from alerts.http import Answer, Request
from alerts.pulse import Pulse
from collectors import readiness as collecting
from collectors.readiness import Check


def checks() -> Iterator[Check]:
    """Yield each stage on which it depends that pages reach people."""
    yield from collecting.database_checks()
    yield from readiness.checks()
    yield self_tests.check(database_clock.now())


def beat() -> None:
    """Ping once if everything works, where anybody listens."""
    if settings.HEARTBEAT_URL:
        tell(checks())


def tell(found: Iterable[Check]) -> None:
    """Ping if all of this works; write down that we did, or why not."""
    troubles = [check.sentence for check in found if not check.ok]
    Pulse.note(database_clock.now(), " ".join(troubles) or answer_to_ping())


def answer_to_ping() -> str:
    """Ping, and return what went wrong with it; "" where the service took it."""
    url = settings.HEARTBEAT_URL
    answer = http.post(Request(url, b"", secrets=(url,)))
    if not isinstance(answer, Answer):
        return sentence(answer.cause, answer.words)
    return "" if 200 <= answer.status < 300 else _("The service answered %(status)d.") % {"status": answer.status}
