"""What is so where a rule asks whether nodes answer: no number, but that they do not, and the likely cause."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.alert import Alert
from alerts.spec_form import SpecError
from collectors.causes import SENTENCES, Cause

# Causes that are told in few words; the other ones have their sentence.
SHORT = {
    Cause.REFUSED: gettext_lazy("connection refused"),
    Cause.CUT: gettext_lazy("connection closed in the middle of an answer"),
    Cause.CONNECT_SLOW: gettext_lazy("no answer to attempts to connect"),
    Cause.SILENT: gettext_lazy("it accepts connections but does not answer"),
    Cause.UNKNOWN_HOST: gettext_lazy("host name not known"),
    Cause.RESOLVE_SLOW: gettext_lazy("no answer from DNS"),
    Cause.UNREACHABLE: gettext_lazy("no way to its address"),
    Cause.MAX_CLIENTS: gettext_lazy("it accepts no more connections"),
    Cause.LOADING: gettext_lazy("it loads its data"),
}


def words(alert: Alert) -> str:
    """Return that something does not answer and why, in the active language; "" where the rule asks something else."""
    if not asks(alert):
        return ""
    cause = cause_words(alert.cause)
    return _("unreachable: %(cause)s") % {"cause": cause} if cause else _("unreachable")


def asks(alert: Alert) -> bool:
    """Return whether the rule of an alert asks only whether nodes answer."""
    try:
        return bool(alert.rule and alert.rule.spec.is_about_down)
    except SpecError:
        return False


def cause_words(cause: str) -> str:
    if cause in SHORT:
        return str(SHORT[Cause(cause)])
    # A cause that another version stored, or one whose sentence wants words that are not kept.
    sentence = str(SENTENCES.get(cause, ""))  # type: ignore[call-overload]
    return "" if "%(" in sentence else sentence
