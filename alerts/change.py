"""What one tick changed of an alert."""

from dataclasses import dataclass
from datetime import datetime

from alerts.alert import FIRING_STATES, Alert, Transition
from alerts.judging import Verdict


@dataclass(frozen=True, slots=True)
class Change:
    """An alert that changed at a tick, and what it was before; no state stands for a new one."""

    alert: Alert
    was: str
    was_severity: str
    verdict: Verdict | None = None

    @property
    def begins(self) -> bool:
        return self.alert.is_firing and self.was not in FIRING_STATES

    @property
    def ends(self) -> bool:
        return not self.alert.is_firing and self.was in FIRING_STATES

    @property
    def is_news(self) -> bool:
        """Return whether people want to hear of it; that it begins to recover is followed by the end, or by nothing."""
        return self.begins or self.ends or self.flaps or self.alert.severity != self.was_severity

    @property
    def flaps(self) -> bool:
        """Return whether it flaps from now on."""
        return self.alert.state == Alert.State.FLAPPING != self.was


def transition(change: Change, at: datetime) -> Transition:
    """Return the row that records a change."""
    alert, verdict = change.alert, change.verdict
    return Transition(
        alert=alert,
        at=at,
        was=change.was,
        state=alert.state,
        severity=alert.severity,
        reason=alert.reason,
        value=verdict.value if verdict else alert.value,
        bound=verdict.bound if verdict else alert.bound,
    )
