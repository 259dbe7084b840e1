"""Why somebody was, or was not, told: a sentence for each decision and each attempt, made when it is read."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import translation
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from alerts import story
from alerts.decision import Decision
from alerts.figures import span
from alerts.languages import spoken
from alerts.models import Attempt, Delivery

What = Decision.What


def about(decision: Decision) -> str:
    """Return which alert was decided about: its place, or its cache."""
    alert = decision.alert
    return (story.place(alert) or alert.cache_name) if alert else _("the incident")


def told(decision: Decision) -> str:
    count = int(decision.data.get("alerts", 1))
    way = " → ".join(decision.data.get("path", ()))
    words = ngettext(
        "Told of %(count)d alert, by the route %(way)s.", "Told of %(count)d alerts, by the route %(way)s.", count
    )
    return words % {"count": count, "way": way}


def nowhere(decision: Decision) -> str:
    way = " → ".join(decision.data.get("path", ()))
    return _("Nobody was told: the route %(way)s has no channel.") % {"way": way}


def silenced(decision: Decision) -> str:
    given = {"about": about(decision), "number": decision.data.get("silence", "?")}
    if "until" not in decision.data:
        return _("Not told of %(about)s: silence %(number)s hides it.") % given
    until = localtime(datetime.fromisoformat(decision.data["until"]))
    given |= {"author": decision.data["author"], "comment": decision.data["comment"] or "–"}
    words = _("Not told of %(about)s: silence %(number)s of %(author)s hides it until %(until)s (%(comment)s).")
    return words % (given | {"until": date_format(until, "Y-m-d H:i T")})


def switched_off(decision: Decision) -> str:
    given = {"about": about(decision), "switch": decision.data.get("switch", "?")}
    return _("Not told of %(about)s: the switch %(switch)s keeps applications off the cache.") % given


def in_window(decision: Decision) -> str:
    given = {"about": about(decision), "comment": decision.data.get("comment", "?")}
    return _("Not told of %(about)s: a maintenance window hides it (%(comment)s).") % given


def behind(decision: Decision) -> str:
    """Return the title of the incident behind which an alert stood."""
    return spoken(decision.data.get("behind", "?"), decision.data.get("titles", {}))


def hidden(decision: Decision) -> str:
    given = {"about": about(decision), "behind": behind(decision)}
    return _("Not told of %(about)s by itself: people hear of “%(behind)s”, which includes it.") % given


def gathered(decision: Decision) -> str:
    """Return what a storm does to one alert, or what began it."""
    if decision.alert is None:
        given = {
            "count": decision.data.get("count", "?"),
            "rule": translation.gettext(str(decision.data.get("rule", "?"))),
        }
        return _("More than %(count)s incidents of “%(rule)s” within a minute: further ones are told here.") % given
    given = {"about": about(decision), "behind": behind(decision)}
    return _("Not told of %(about)s by itself, but with many others: “%(behind)s”.") % given


def outage(decision: Decision) -> str:
    nodes = int(decision.data.get("nodes", 0))
    words = ngettext(
        "The only node that was asked did not answer.", "None of the %(count)d nodes that were asked answered.", nodes
    )
    return words % {"count": nodes}


def joined(decision: Decision) -> str:
    return _("%(about)s joined: people know of the incident already.") % {"about": about(decision)}


def waited(decision: Decision) -> str:
    time = span(float(decision.data.get("seconds", 0)))
    return _("News were kept back: its route tells them once in %(time)s at most.") % {"time": time}


def gathers(decision: Decision) -> str:
    time = span(float(decision.data.get("seconds", 0)))
    return _("The first message was kept back: its route waits %(time)s for others of the group.") % {"time": time}


def flapping(decision: Decision) -> str:
    """Return how often it fired, and until when it counts as one."""
    count, data = int(decision.data.get("count", 0)), decision.data
    words = ngettext(
        "%(about)s flaps: it fired %(count)d time within %(time)s. It is over once it was calm for %(calm)s.",
        "%(about)s flaps: it fired %(count)d times within %(time)s. It is over once it was calm for %(calm)s.",
        count,
    )
    times = {"time": span(float(data.get("seconds", 0))), "calm": span(float(data.get("calm", 0)))}
    return words % {"about": about(decision), "count": count, **times}


def escalated(decision: Decision) -> str:
    given = {
        "time": span(float(decision.data.get("seconds", 0))),
        "channels": ", ".join(decision.data.get("channels", ())),
    }
    return _("Told next, as nobody had acknowledged it for %(time)s: %(channels)s.") % given


SENTENCES: dict[str, Callable[[Decision], str]] = {
    What.TOLD: told,
    What.NOWHERE: nowhere,
    What.SILENCED: silenced,
    What.SWITCHED_OFF: switched_off,
    What.WINDOW: in_window,
    What.HIDDEN: hidden,
    What.STORM: gathered,
    What.OUTAGE: outage,
    What.JOINED: joined,
    What.WAITED: waited,
    What.GATHERS: gathers,
    What.FLAPPING: flapping,
    What.ESCALATED: escalated,
    What.SNOOZED: lambda decision: _("News were kept back: somebody put the incident to sleep."),
    What.WOKEN: lambda decision: _(
        "Told again: its sleep is over, and it goes on. Nobody looks after it until somebody says so."
    ),
    What.REPEATED: lambda decision: _("Told again: it goes on, and nobody acknowledged it."),
    What.ENDED: lambda decision: _("Told to be over."),
    What.ENDED_UNTOLD: lambda decision: _("It was over before anybody was told, so nobody is told of the end."),
}


def sentence(decision: Decision) -> str:
    """Return what was decided and why, in the active language."""
    words = SENTENCES.get(decision.what)
    return words(decision) if words else f"{about(decision)}: {decision.get_what_display()}"


def attempt_words(attempt: Attempt) -> str:
    """Return to whom a message was sent and what the service said."""
    given = {"kind": attempt.delivery.get_kind_display(), "channel": attempt.channel.name, "number": attempt.number}
    said = " ".join(filter(None, (attempt.sentence, f"HTTP {attempt.status}" if attempt.status else "")))
    given |= {"result": attempt.get_result_display(), "said": said}
    words = _("%(channel)s, message “%(kind)s”, attempt %(number)s: %(result)s. %(said)s")
    if attempt.result == Attempt.Result.ACCEPTED:
        words = _("%(channel)s accepted the message “%(kind)s” at attempt %(number)s.")
    return " ".join(filter(None, (words % given, stand_in_words(attempt.delivery)))).strip()


def stand_in_words(delivery: Delivery) -> str:
    """Return for whom a fall-back got a message; "" where it was told by itself."""
    failed = delivery.stands_in_for
    return _("It stands in for %(channel)s, which did not get it out.") % {"channel": failed} if failed else ""


def waiting_words(delivery: Delivery) -> str:
    """Return where a message stands that nobody accepted, or that never left."""
    given = {"kind": delivery.get_kind_display(), "channel": delivery.channel.name}
    given["state"] = delivery.get_state_display()
    words = _("The message “%(kind)s” to %(channel)s: %(state)s.") % given
    return " ".join(filter(None, (words, why_waiting(delivery), stand_in_words(delivery))))


def why_waiting(delivery: Delivery) -> str:
    """Return what keeps a message from leaving; "" where it is done, or leaves now."""
    if delivery.state != Delivery.State.WAITING:
        return ""
    if delivery.channel.is_broken:
        return _("The channel is broken: %(trouble)s") % {"trouble": delivery.channel.trouble}
    due = max(delivery.due_at, delivery.channel.held_until)
    is_later = due - delivery.created_at > timedelta(seconds=1)
    return _("It is tried at %(time)s.") % {"time": clock(due)} if is_later else ""


def clock(at: datetime) -> str:
    return date_format(localtime(at), "Y-m-d H:i:s T")
