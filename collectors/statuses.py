"""How the polls of each node went: one statement a batch."""

from collections.abc import Sequence
from datetime import datetime

from collectors.cursors import raw_cursor
from collectors.failures import ReadError
from collectors.models import NodeStatus

# A time that lies ahead of the newest poll was written before the clock was set back: silence begins with that poll.
RECORD = """
    INSERT INTO collectors_nodestatus AS status
        (node_id, attempted_at, answered_at, failing_since, failed_step, failed_cause, failed_words, polls,
        failures)
    SELECT seen.node_id, %s, CASE WHEN step = '' THEN %s END, CASE WHEN step <> '' THEN %s END, step,
        cause, words, 1, (step <> '')::int
    FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[]) AS seen (node_id, step, cause, words)
    JOIN fleet_node ON fleet_node.id = seen.node_id ORDER BY seen.node_id
    ON CONFLICT (node_id) DO UPDATE SET
        attempted_at = EXCLUDED.attempted_at,
        answered_at = COALESCE(EXCLUDED.answered_at,
            CASE WHEN status.answered_at > EXCLUDED.attempted_at THEN EXCLUDED.attempted_at
                ELSE status.answered_at END),
        failing_since = CASE WHEN EXCLUDED.failed_step <> ''
            THEN LEAST(status.failing_since, EXCLUDED.failing_since) END,
        failed_step = EXCLUDED.failed_step, failed_cause = EXCLUDED.failed_cause,
        failed_words = EXCLUDED.failed_words,
        polls = status.polls + 1, failures = status.failures + EXCLUDED.failures
"""


def record(results: Sequence[tuple[int, ReadError | None]], now: datetime) -> None:
    """Write down which nodes answered and which failed, why, and since when."""
    rows = sorted(
        (node_id, failure.step, failure.cause, failure.words) if failure else (node_id, "", "", "")
        for node_id, failure in results
    )
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    with raw_cursor() as cursor:
        # Prepared, for planning costs more than running it.
        cursor.execute(RECORD, [now, now, now, *columns], prepare=True)


def that_answered(node_ids: Sequence[int]) -> set[int]:
    """Return those of the nodes that ever answered."""
    return set(NodeStatus.objects.filter(pk__in=node_ids, answered_at__isnull=False).values_list("pk", flat=True))
