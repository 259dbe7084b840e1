"""When we last pinged the service that watches us from outside."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils.translation import gettext as _

from collectors.readiness import Check, clock

# So many pings may fail to come before we say that nobody outside hears us.
MISSED = 3
WORDS_LIMIT = 500


class Pulse(models.Model):
    """The one row of the dead man's switch; `words` say why the last try was no ping, "" where it was."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    tried_at = models.DateTimeField()
    pinged_at = models.DateTimeField(null=True)
    words = models.CharField(max_length=WORDS_LIMIT, blank=True)

    objects = models.Manager["Pulse"]()

    def __str__(self) -> str:
        return f"tried at {self.tried_at:%H:%M:%S}: {self.words or 'pinged'}"

    @classmethod
    def note(cls, at: datetime, words: str) -> None:
        """Write a try down; with words it failed, and the time of the last ping stays."""
        known = {"tried_at": at, "words": words[:WORDS_LIMIT], **({} if words else {"pinged_at": at})}
        cls.objects.update_or_create(id=1, defaults=known)


def check(now: datetime) -> Check:
    """Tell whether the service outside hears us."""
    if not settings.HEARTBEAT_URL:
        sentence = _("No service outside watches Shardwatch: SHARDWATCH_HEARTBEAT_URL is not set.")
        return Check("heartbeat", True, sentence, is_used=False)
    pulse = Pulse.objects.first()
    if pulse is None or pulse.pinged_at is None:
        words = pulse.words if pulse else ""
        return Check("heartbeat", False, " ".join([_("The service outside has not been pinged yet."), words]).strip())
    if now - pulse.pinged_at <= timedelta(seconds=MISSED * settings.HEARTBEAT_SECONDS):
        return Check("heartbeat", True, _("The service outside was pinged at %(at)s.") % {"at": clock(pulse.pinged_at)})
    words = _("The service outside has not been pinged since %(at)s.") % {"at": clock(pulse.pinged_at)}
    return Check("heartbeat", False, " ".join([words, pulse.words]).strip())
