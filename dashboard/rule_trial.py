"""What a rule would have done in the last 30 days, as its page and the API show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from alerts import story, trial
from alerts.figures import span
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.spec_form import SpecError
from alerts.trial import Episode, Trial

LISTED = 20
WIDTH, HEIGHT = 720, 16


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One time that it would have fired."""

    episode: Episode
    end: datetime

    @property
    def place(self) -> str:
        alert = self.episode.alert
        return " ".join(filter(None, (alert.cache_name, story.place(alert))))

    @property
    def lasted(self) -> timedelta:
        return (self.episode.ended_at or self.end) - (self.episode.fired_at or self.episode.began_at)


@dataclass(frozen=True, slots=True)
class TrialColumn:
    """One rule's trial: as it is kept, or as it is typed."""

    title: str
    trial: Trial

    width, height = WIDTH, HEIGHT

    @property
    def rows(self) -> list[EpisodeRow]:
        """Return when it would have fired last, newest first."""
        return [EpisodeRow(episode, self.trial.end) for episode in self.trial.fired[::-1][:LISTED]]

    @property
    def more(self) -> int:
        return max(len(self.trial.fired) - LISTED, 0)

    @property
    def resolution(self) -> str:
        return span(self.trial.step)

    def marks(self) -> Iterator[tuple[float, float, str]]:
        """Yield where on the line of time it would have fired: from, width and how bad."""
        whole = (self.trial.end - self.trial.start) / timedelta(seconds=1) or 1
        for episode in self.trial.fired:
            assert episode.fired_at
            start = (episode.fired_at - self.trial.start).total_seconds() / whole * WIDTH
            length = ((episode.ended_at or self.trial.end) - episode.fired_at).total_seconds() / whole * WIDTH
            yield round(start, 1), round(max(length, 1.5), 1), episode.severity


def columns(spec: Spec, kept: Rule | None, now: datetime, days: int = 30) -> list[TrialColumn]:
    """Return the trial of a rule as it is typed, before it that of the rule as it is kept where that differs."""
    overrides = list(kept.overrides.select_related("cache", "node")) if kept else []
    before = _kept(kept)
    found = []
    if before and before != spec:
        found.append(TrialColumn(_("As it is kept"), trial.run(before, now, timedelta(days=days), overrides)))
    title = _("With your changes") if found else _("As it is")
    return [*found, TrialColumn(title, trial.run(spec, now, timedelta(days=days), overrides))]


def _kept(rule: Rule | None) -> Spec | None:
    try:
        return rule.spec if rule else None
    except SpecError:
        return None


def answer(found: Trial) -> dict[str, Any]:
    """Return a trial for the API."""
    return {
        "start": found.start,
        "end": found.end,
        "step_seconds": found.step,
        "nodes": found.nodes,
        "of_nodes": found.of_nodes,
        "targets": found.targets,
        "unknown_share": found.unknown_share,
        "known_seconds": int(found.known.total_seconds()),
        "pending_only": found.waited_only,
        "fired": len(found.fired),
        "flaps": found.flaps,
        "pages": len(found.pages),
        "pages_a_week": None if found.pages_a_week is None else round(found.pages_a_week, 2),
        "episodes": [_episode(episode) for episode in _newest(found.fired)],
    }


def _newest(fired: Sequence[Episode]) -> Sequence[Episode]:
    return fired[::-1][:100]


def _episode(episode: Episode) -> dict[str, Any]:
    alert = episode.alert
    same = {name: getattr(episode, name) for name in ("began_at", "fired_at", "ended_at", "severity", "value", "bound")}
    return {**same, "cache": alert.cache_name, "place": story.place(alert), "flapped": episode.flapped}
