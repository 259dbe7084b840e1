"""Whether rules are judged and messages get out: what /readyz, the health page and /metrics tell of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.readiness import TIMEOUT_SECONDS, Check

# What could have left and did not, by the database's clock: held, broken and ordered messages are left out.
LATE = """
    SELECT coalesce(max(extract(epoch FROM now() - d.due_at)), 0)::float8, count(*)
    FROM alerts_delivery d JOIN alerts_channel c ON c.id = d.channel_id
    WHERE d.state = '' AND d.lease_until IS NULL AND d.due_at <= now() AND c.held_until <= now()
      AND c.broken_at IS NULL AND c.served_at < now() - make_interval(secs => %s)
      AND NOT EXISTS (
          SELECT FROM alerts_delivery e
          WHERE e.incident_id = d.incident_id AND e.channel_id = d.channel_id AND e.sequence < d.sequence
            AND (e.state = '' OR e.unknown_at > now() - make_interval(secs => %s)))
"""
# How far the judging of rules is behind the polls; caches younger than the limit have not had their turn yet.
BEHIND = """
    SELECT coalesce(extract(epoch FROM max(l.finished_at) - max(coalesce(m.judged_at, c.created_at))), 0)::float8
    FROM collectors_polllease l JOIN fleet_cache c ON c.id = l.cache_id
    LEFT JOIN alerts_evaluationmark m ON m.cache_id = c.id
    WHERE NOT c.is_paused AND EXISTS (SELECT FROM fleet_node n WHERE n.cache_id = c.id AND n.left_at IS NULL)
"""
BROKEN = "SELECT count(*) FROM alerts_channel WHERE broken_at IS NOT NULL"


@dataclass(frozen=True, slots=True)
class OutboxSigns:
    """How long the oldest message waits that a sender should have taken, and how many do; broken channels."""

    late_seconds: float
    late: int
    broken: int
    # How far rules are judged behind the polls.
    behind_seconds: float = 0.0


def checks() -> Iterator[Check]:
    """Yield what is known of sending; nothing where the database is away, which others tell."""
    try:
        signs = read_signs()
    # Whatever keeps the database from answering, its own check says so.
    except Exception:
        return
    yield judge_check(signs)
    yield sender_check(signs)


def read_signs(database: BaseDatabaseWrapper = connection) -> OutboxSigns:
    """Ask on a connection of its own, which gives up after seconds where a request's would wait for ever."""
    parameters: dict[str, Any] = database.get_connection_params()
    options = f"{parameters.get('options', '')} -c statement_timeout={TIMEOUT_SECONDS * 1000}"
    fresh = database.get_new_connection({**parameters, "connect_timeout": TIMEOUT_SECONDS, "options": options})
    try:
        given = [settings.READY_SEND_SECONDS, settings.DELIVERY_RESOLVE_HOLD_SECONDS]
        late_seconds, late = fresh.execute(LATE, given).fetchone()
        broken, behind = fresh.execute(BROKEN).fetchone()[0], fresh.execute(BEHIND).fetchone()[0]
        return OutboxSigns(late_seconds, late, broken, behind)
    finally:
        fresh.close()


def judge_check(signs: OutboxSigns) -> Check:
    if signs.behind_seconds <= settings.READY_JUDGE_SECONDS:
        return Check("judge", True, _("Rules are judged in time."))
    sentence = _("The judge of rules is %(seconds)d s behind the polls.") % {"seconds": signs.behind_seconds}
    return Check("judge", False, sentence)


def sender_check(signs: OutboxSigns) -> Check:
    if signs.late_seconds <= settings.READY_SEND_SECONDS:
        return Check("sender", True, _("Messages leave in time."))
    sentence = ngettext(
        "%(count)d message has been waiting for a sender for %(seconds)d s.",
        "%(count)d messages have been waiting for a sender, the oldest for %(seconds)d s.",
        signs.late,
    )
    return Check("sender", False, sentence % {"count": signs.late, "seconds": signs.late_seconds})
