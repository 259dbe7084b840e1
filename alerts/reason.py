"""Why alerts are in their state, and why incidents were opened and ended: one list for both."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Reason(models.TextChoices):
    """All but the first two are no evidence about the cache. The last five are of incidents alone."""

    THRESHOLD = "threshold", _("its condition came true")
    NO_DATA = "no_data", _("no data")
    EVALUATION_ERROR = "eval_error", _("evaluation error")
    STALE_SOURCE = "stale_source", _("stale source")
    SWITCHED_OFF = "switched_off", _("switched off")
    PAUSED = "paused", _("paused")
    RULE_CHANGED = "rule_changed", _("rule changed")
    RULE_DELETED = "rule_deleted", _("rule deleted")
    NODE_LEFT = "node_left", _("node left")
    CACHE_DELETED = "cache_deleted", _("cache deleted")
    RECOVERED = "recovered", _("recovered")
    CLOSED_BY_PERSON = "by_person", _("closed by a person")
    SYNTHETIC = "synthetic", _("synthetic page")
    TEST = "test", _("test of a channel")
    STORM = "storm", _("many at once")
