"""Trying a rule on the past: what it would have found and told in the last days, from what is stored.

The same verdicts, clocks and grouping as in earnest judge what rollups still know (collectors/past_windows.py). The
cost has a ceiling: with many nodes the points become coarser, then fewer caches are tried; both are said.
Unknown stays unknown. Nodes, roles and settings of caches are those of today.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from alerts import judging, measures, past_silence, scene
from alerts.alert import FIRING_STATES, Alert, moment
from alerts.change import Change
from alerts.evaluate import Book
from alerts.hiding import labels_of
from alerts.judging import Verdict
from alerts.measures import DOWN, is_counted, is_service, is_whole
from alerts.route import Tree
from alerts.rule import Override, Rule
from alerts.scene import EVIDENCE, Watched, silent_limit
from alerts.spec import NoData, Spec
from collectors import past_windows, tally_points
from collectors.cloud import windows as cloud_windows
from collectors.event import Event, Kind
from collectors.past_windows import STEPS, Column, Grid
from collectors.windows import Reading, Values
from fleet.models import Cache

LONGEST = timedelta(days=30)
WEEK = timedelta(days=7)
# From less than this no rate is told: an hour with one page says nothing of a week.
ENOUGH = timedelta(days=1)
# Values of one term that a trial may read: nodes times points.
POINTS = 120_000
# Counts by name are kept by ten minutes for a month.
COUNTED_STEP = 600


@dataclass(slots=True)
class Episode:
    """One time that an alert waited, and perhaps fired; times are those of ticks."""

    alert: Alert
    began_at: datetime
    fired_at: datetime | None = None
    ended_at: datetime | None = None
    severity: str = ""
    value: float | None = None
    bound: float | None = None
    flapped: bool = False


@dataclass(slots=True)
class Trial:
    """What came of it. Shares are of all points of all targets."""

    spec: Spec
    start: datetime
    end: datetime
    step: int
    nodes: int
    # All nodes that the rule would look at, more than those that were tried where there are too many.
    of_nodes: int
    targets: int = 0
    points: int = 0
    unknown: int = 0
    # Points of time at which anything was known.
    known_points: int = 0
    episodes: list[Episode] = field(default_factory=list)
    # When incidents would have been opened, by what they would have been about.
    pages: list[datetime] = field(default_factory=list)

    @property
    def fired(self) -> list[Episode]:
        return [episode for episode in self.episodes if episode.fired_at]

    @property
    def waited_only(self) -> int:
        return len(self.episodes) - len(self.fired)

    @property
    def flaps(self) -> int:
        return sum(episode.flapped for episode in self.episodes)

    @property
    def known(self) -> timedelta:
        """Return of how much of the time anything is known."""
        return timedelta(seconds=self.known_points * self.step)

    @property
    def pages_a_week(self) -> float | None:
        """Return how often it pages where something is known; None where that is too little to tell."""
        return len(self.pages) / (self.known / WEEK) if self.known >= ENOUGH else None

    @property
    def unknown_share(self) -> float | None:
        return self.unknown / self.points if self.points else None

    @property
    def is_partial(self) -> bool:
        return self.nodes < self.of_nodes

    @property
    def judges_silence(self) -> bool:
        """Whether it matters that the service told nothing."""
        is_told = any(is_service(reading.metric) for reading in self.spec.readings())
        return is_told and self.spec.no_data is not NoData.KEEP


def run(spec: Spec, now: datetime, span: timedelta = LONGEST, overrides: Sequence[Override] = ()) -> Trial:
    """Judge a rule on the past. Overrides are those of the rule as it is kept."""
    known = _caches(now)
    caches = [cache for cache in known if spec.where.fits_cache(cache.name, cache.labels)]
    members = judging.members_of(spec)
    of_nodes = sum(len(members(cache)) for cache in caches)
    step, caches = fitted(spec, caches, span)
    grid = Grid.between(now - span, now, step)
    nodes = sum(len(members(cache)) for cache in caches)
    trial = Trial(spec, moment(grid.start), moment(grid.end), step, nodes, of_nodes)
    stage = Stage(spec, overrides, caches, grid, trial)
    if trial.judges_silence:
        stage.silence = past_silence.read(caches, known, grid)
    stage.play()
    trial.pages = _pages(trial.fired, trial.end)
    return trial


def _caches(now: datetime) -> list[Watched]:
    ids = list(Cache.objects.order_by("name").values_list("pk", flat=True))
    found = {cache.id: cache for cache in scene.load(ids, now, 0)}
    return [found[pk] for pk in ids if pk in found]


def fitted(spec: Spec, caches: Sequence[Watched], span: timedelta) -> tuple[int, list[Watched]]:
    """Return the finest step for which all nodes cost no more than POINTS, and the caches that fit at the coarsest."""
    finest = COUNTED_STEP if any(is_counted(reading.metric) for reading in spec.readings()) else STEPS[0]
    members = judging.members_of(spec)
    nodes = sum(len(members(cache)) for cache in caches)
    for step in STEPS:
        if step >= finest and nodes * span.total_seconds() / step <= POINTS:
            return step, list(caches)
    kept, left = [], POINTS * STEPS[-1] / span.total_seconds()
    for cache in caches:
        if len(members(cache)) <= left:
            kept.append(cache)
            left -= len(members(cache))
    return STEPS[-1], kept


class Stage:
    """The caches of a trial, what rules would have read of them, and the alerts as they stand at a tick."""

    def __init__(
        self, spec: Spec, overrides: Sequence[Override], caches: Sequence[Watched], grid: Grid, trial: Trial
    ) -> None:
        # A rule that is stored nowhere has a number of its own.
        self.rule, self.overrides, self.caches = Rule.of(spec, pk=1), overrides, list(caches)
        self.grid, self.trial = grid, trial
        ids = [node.id for cache in caches for node in cache.nodes]
        self.down = _down(self.caches, ids, grid, spec.hold)
        places = [-place.id for cache in caches for place in cache.places]
        self.columns = _columns(spec, ids, grid, self.down) | _told(spec, places, grid)
        self.events = _events(self.caches, spec, grid)
        # At which points the service told nothing of a place, where that matters.
        self.silence: dict[int, list[bool]] = {}
        self.known: dict[tuple[int | None, str], Alert] = {}
        self.running: dict[tuple[int | None, str], Episode] = {}

    def play(self) -> None:
        for point in range(self.grid.count):
            end = self.grid.start + (point + 1) * self.grid.step
            self._let_happen(end)
            verdicts = self._verdicts(point)
            self._count(verdicts)
            # A point stands for all polls of its time: what is true was so at the first of them and at the last.
            if self.running or any(verdict.level for verdict in verdicts):
                first = end - self.grid.step + min(cache.interval for cache in self.caches)
                for tick in dict.fromkeys((min(first, end), end)):
                    self._judge(verdicts, tick)

    def _verdicts(self, point: int) -> list[Verdict]:
        found: dict[Reading, Values] = {
            reading: {node: value for node, column in columns.items() if (value := column[point]) is not None}
            for reading, columns in self.columns.items()
        }
        down = (node for node, column in self.down.items() if column[point])
        silent = frozenset((*down, *(place for place, marks in self.silence.items() if marks[point])))
        return list(judging.verdicts(self.rule, self.overrides, self.caches, found, silent))

    def _count(self, verdicts: Sequence[Verdict]) -> None:
        self.trial.targets = max(self.trial.targets, len(verdicts))
        self.trial.points += len(verdicts)
        unknown = sum(verdict.level is None for verdict in verdicts)
        self.trial.unknown += unknown
        self.trial.known_points += unknown < len(verdicts)

    def _let_happen(self, tick: int) -> None:
        while self.events and self.events[0][0] <= tick:
            at, cache, kind = self.events.pop(0)
            cache.events[kind] = moment(at)

    def _judge(self, verdicts: Sequence[Verdict], tick: int) -> None:
        book = Book(self.caches, tick, self.known.values())
        for verdict in verdicts:
            book.enter(self.rule, verdict)
        book.close_missing({1}, {1})
        for change in book.changes:
            self._follow(change, tick)

    def _follow(self, change: Change, tick: int) -> None:
        alert, key = change.alert, (change.alert.rule_id, change.alert.target)
        self.known[key] = alert
        episode = self.running.get(key)
        if episode is None:
            episode = self.running[key] = Episode(alert, moment(tick))
            self.trial.episodes.append(episode)
        if alert.state in FIRING_STATES:
            episode.fired_at = episode.fired_at or moment(tick)
            is_worse = alert.severity == "critical" or not episode.severity
            if is_worse:
                episode.severity, episode.value, episode.bound = alert.severity, alert.value, alert.bound
        episode.flapped = episode.flapped or alert.state == Alert.State.FLAPPING
        if alert.state == Alert.State.RESOLVED:
            episode.ended_at = moment(tick)
            del self.running[key]


def _columns(spec: Spec, ids: list[int], grid: Grid, down: dict[int, Column]) -> dict[Reading, dict[int, Column]]:
    readings = list(dict.fromkeys(spec.readings()))
    # How caches stood as a whole is not stored.
    ours = [one for one in readings if one.metric != DOWN.name and not (is_service(one.metric) or is_whole(one.metric))]
    sampled = [one for one in ours if not is_counted(one.metric)]
    found = past_windows.read(ids, grid, sampled)
    for reading in readings:
        if reading.metric == DOWN.name:
            found[reading] = down
        elif is_counted(reading.metric):
            found[reading] = _counted(reading, ids, grid)
    return found


def _told(spec: Spec, places: list[int], grid: Grid) -> dict[Reading, dict[int, Column]]:
    """Return what the service told, by the ids that places have beside nodes."""
    found = cloud_windows.read_past(places, grid, [one for one in spec.readings() if is_service(one.metric)])
    return {reading: {-place: column for place, column in by_place.items()} for reading, by_place in found.items()}


def _counted(reading: Reading, ids: list[int], grid: Grid) -> dict[int, Column]:
    name, _dot, member = reading.metric.partition(".")
    family = measures.FAMILIES[name]
    found: dict[int, Column] = defaultdict(lambda: [None] * grid.count)
    for node_id, point, summary in tally_points.by_node(ids, family.kind, member, grid):
        found[node_id][point] = family.value(summary)
    return found


def _down(caches: Iterable[Watched], ids: list[int], grid: Grid, hold: int) -> dict[int, Column]:
    """Return at which points each node was known not to serve: by its outages, else by its samples.

    An outage that was over before the rule's `for` does not count, as it would fill a whole point.
    """
    least = {cache.id: cache.interval + hold for cache in caches}
    answered = past_windows.known_nodes(ids, grid)
    found: dict[int, Column] = {
        node_id: [0.0 if known else None for known in answered.get(node_id, [False] * grid.count)] for node_id in ids
    }
    patience = {cache.id: silent_limit(cache.interval) for cache in caches}
    events = Event.objects.filter(kind=Kind.UNREACHABLE, cache__in=patience).between(
        moment(grid.start), moment(grid.end)
    )
    for event in events:
        for node in event.nodes:
            if node["id"] in found and event.cache_id:
                _mark(found[node["id"]], node, patience[event.cache_id], least[event.cache_id], grid)
    return found


def _mark(column: Column, node: Mapping[str, object], patience: int, least: int, grid: Grid) -> None:
    since, until = node.get("since"), node.get("until", grid.end)
    if not isinstance(since, int | float) or not isinstance(until, int | float):
        return
    start = since if node.get("cause") in EVIDENCE else since + patience
    if until - start >= least:
        first, last = int(start - grid.start) // grid.step, int(until - grid.start) // grid.step
        for point in range(max(first, 0), min(last + 1, grid.count)):
            column[point] = 1.0


def _events(caches: Sequence[Watched], spec: Spec, grid: Grid) -> list[tuple[int, Watched, str]]:
    """Return what keeps the rule calm, in the order of time."""
    by_id = {cache.id: cache for cache in caches}
    for cache in caches:
        cache.events = {}
    longest = max(spec.calm.values(), default=0)
    rows = Event.objects.filter(cache__in=by_id, kind__in=list(spec.calm)).between(
        moment(grid.start - longest), moment(grid.end)
    )
    found = [(int(last.timestamp()), cache_id, kind) for cache_id, kind, last in _lasts(rows) if cache_id]
    return [(at, by_id[cache_id], kind) for at, cache_id, kind in sorted(found)]


def _lasts(rows: Iterable[Event]) -> Iterator[tuple[int | None, str, datetime]]:
    for event in rows:
        yield event.cache_id, event.kind, event.last_at


def _pages(fired: Sequence[Episode], end: datetime) -> list[datetime]:
    """Return when incidents would have been opened: episodes that belong together and overlap are one."""
    tree = Tree.load()
    by_subject: dict[str, list[Episode]] = defaultdict(list)
    for episode in fired:
        labels = labels_of(episode.alert) | {"severity": episode.severity}
        by_subject[tree.way(labels, episode.fired_at or end).subject(labels)].append(episode)
    return sorted(at for episodes in by_subject.values() for at in _openings(episodes, end))


def _openings(episodes: Iterable[Episode], end: datetime) -> Iterator[datetime]:
    open_until: datetime | None = None
    for episode in sorted(episodes, key=lambda one: one.fired_at or end):
        assert episode.fired_at
        if open_until is None or episode.fired_at > open_until:
            yield episode.fired_at
            open_until = episode.ended_at or end
        open_until = max(open_until, episode.ended_at or end)
