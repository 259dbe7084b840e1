"""INFO: nearly all numbers and facts. One reply of about 8 kB; some 60 microseconds of the server's time."""

from collections.abc import Iterable, Sequence

from django.conf import settings

from collectors.failures import printable
from collectors.metrics.detail import DETAIL, FACTS
from collectors.metrics.hot import HOT, HOT_INDEX
from collectors.protocol import INFO as INFO
from collectors.source import Command, Readings, ReplicaSeen, Reply, Source, empty_row
from collectors.sources.fields import Field, FieldReader, field_of, lines_of, plain_number, words

# What INFO itself reports under another name or shape, or what comes from elsewhere.
NOT_IN_INFO = {"keys", "expires", "replication_lag_bytes", "replication_lag_seconds"}
CLAIMS = {
    b"role": ("is_primary", words(b"master", b"slave")),
    b"master_link_status": ("master_link_up", words(b"up", b"down")),
    b"rdb_last_bgsave_status": ("rdb_last_bgsave_ok", words(b"ok", b"err")),
}
KEYS, EXPIRES = HOT_INDEX["keys"], HOT_INDEX["expires"]
CONNECTED_SLAVES = HOT_INDEX["connected_slaves"]
SECTIONS = {"server", "clients", "memory", "persistence", "stats", "replication", "cpu"}
KEYSPACE = b"# Keyspace"
# A line about a replica is far shorter; one that is not is not read.
LINE_LIMIT = 1000


def hot_fields() -> dict[bytes, Field]:
    """Return the fields of INFO that fill hot columns, by the server's name for them."""
    made = NOT_IN_INFO | {name for name, _ in CLAIMS.values()}
    fields = {
        metric.name.encode(): field_of(slot, metric)
        for slot, metric in enumerate(HOT)
        if metric.section in SECTIONS and metric.name not in made
    }
    return fields | {name: Field(HOT_INDEX[own], 0, read) for name, (own, read) in CLAIMS.items()}


HOT_FIELDS = hot_fields()
FACT_NAMES = {name.encode(): name for name in FACTS}


class Info(Source):
    """The hot row, facts that changed, and the replicas that a primary lists."""

    name = "info"
    tells_kind = True

    def __init__(self) -> None:
        self._numbers = FieldReader(HOT_FIELDS)
        self._facts: dict[str, tuple[int, bytes]] = {}
        self._length = -1

    def commands(self) -> tuple[Command, ...]:
        return (INFO,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        text = replies[0] if isinstance(replies[0], bytes) else b""
        lines = lines_of(text)
        row = empty_row()
        self._numbers.fill(lines, row)
        row[KEYS], row[EXPIRES] = keyspace(lines)
        listed = replicas(text) if row[CONNECTED_SLAVES] else ()
        return Readings(row, facts=self._changed_facts(lines), replicas=listed)

    def _changed_facts(self, lines: Sequence[bytes]) -> dict[str, str]:
        """Return facts whose line is not the one of the last poll, decoded; the others cost one comparison."""
        if len(lines) == self._length:
            changed = {name: lines[at] for name, (at, known) in self._facts.items() if lines[at] != known}
            if not changed:
                return {}
        before = {name: known for name, (_, known) in self._facts.items()}
        self._length, self._facts = len(lines), _fact_lines(lines)
        return {
            name: printable(line.partition(b":")[2])
            for name, (_, line) in self._facts.items()
            if before.get(name) != line
        }


def _fact_lines(lines: Sequence[bytes]) -> dict[str, tuple[int, bytes]]:
    found: dict[str, tuple[int, bytes]] = {}
    for index, line in enumerate(lines):
        name, colon, _ = line.partition(b":")
        if colon and (fact := FACT_NAMES.get(name)) and fact not in found:
            found[fact] = (index, line)
    return found


def keyspace(lines: Sequence[bytes]) -> tuple[int | None, int | None]:
    """Return the keys and the keys with a time to live in all databases; None where INFO shows no keyspace."""
    try:
        # The keyspace stands at the end or near it.
        start = len(lines) - 1 - lines[::-1].index(KEYSPACE)
    except ValueError:
        return None, None
    keys = expires = 0
    for line in lines[start + 1 :]:
        if not line.startswith(b"db"):
            break
        numbers = parts(line)
        keys += numbers.get(b"keys", 0)
        expires += numbers.get(b"expires", 0)
    return keys, expires


def parts(line: bytes) -> dict[bytes, int]:
    """Return the whole numbers in `name:a=1,b=2,...`; what is no number below 2**63 is left out."""
    found = {}
    for part in line.partition(b":")[2].split(b","):
        name, _, text = part.partition(b"=")
        if text.isdigit() and len(text) < 19:
            found[name] = int(text)
    return found


def replicas(text: bytes) -> list[ReplicaSeen]:
    """Return the lines slave0, slave1, … as replicas; a line without a port is left out."""
    found = []
    start = text.find(b"\nslave0:") + 1
    while start and text.startswith(b"slave", start):
        line, newline, _ = text[start : start + LINE_LIMIT].partition(b"\n")
        if not newline:
            break
        start += len(line) + 1
        if seen := _replica(line.rstrip(b"\r")):
            found.append(seen)
    return found


def _replica(line: bytes) -> ReplicaSeen | None:
    name, _, rest = line.partition(b":")
    if not name[5:].isdigit():
        return None
    texts = dict(part.partition(b"=")[::2] for part in rest.split(b","))
    numbers = parts(line)
    if not 0 < numbers.get(b"port", 0) < 65536:
        return None
    host = printable(texts.get(b"ip", b""))
    return ReplicaSeen(host, numbers[b"port"], numbers.get(b"offset"), numbers.get(b"lag"))


class InfoDetail(Source):
    """All other numbers of INFO by name, from the reply that Info asked for."""

    name = "info_detail"

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (INFO,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        lines = lines_of(replies[0])
        return Readings(detail=numbers_by_name(lines) | _sums(lines))


DETAIL_FIELDS = {metric.name.encode(): metric.name for metric in DETAIL if metric.section != "keyspace"}
CLAIM_WORDS = {b"ok": 1.0, b"err": 0.0, b"yes": 1.0, b"no": 0.0, b"up": 1.0, b"down": 0.0}


def numbers_by_name(lines: Iterable[bytes]) -> dict[str, float]:
    """Return every number of the detail table that the lines hold; of repeated ones the first counts."""
    found: dict[str, float] = {}
    for line in lines:
        field, _, text = line.partition(b":")
        name = DETAIL_FIELDS.get(field)
        if name is None or name in found:
            continue
        number = CLAIM_WORDS.get(text, plain_number(text.rstrip(b"%")))
        if number is not None:
            found[name] = number
    return found


def _sums(lines: Sequence[bytes]) -> dict[str, float]:
    """Return what INFO gives by database or by thread, as one number each."""
    sums: dict[str, float] = {}
    threads = [
        plain_number(line.partition(b":")[2]) for line in lines if line.startswith(b"used_active_time_io_thread_")
    ]
    if threads:
        sums["used_active_time_io_threads"] = sum(filter(None, threads))
    databases = [parts(line) for line in lines if line.startswith(b"db") and line[2:3].isdigit()]
    if KEYSPACE in lines:
        sums["databases"] = float(len(databases))
    for name in (b"subexpiry", b"cached_keys"):
        if any(name in database for database in databases):
            sums[name.decode()] = float(sum(database.get(name, 0) for database in databases))
    expires = sum(database.get(b"expires", 0) for database in databases)
    if expires:
        sums["avg_ttl"] = sum(d.get(b"avg_ttl", 0) * d.get(b"expires", 0) for d in databases) / expires
    return sums
