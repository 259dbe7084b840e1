"""Create the tables of tallies: counts by name over time. They have no models: collectors/tallies.py owns them."""

from django.db import migrations

NAMES = """
CREATE TABLE tally_name (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    name text NOT NULL,
    UNIQUE (kind, name)
);
"""

# Parallel arrays: names with calls, usec, rejected and failed; hist_names with hist_buckets and hist_counts.
TALLY = """
CREATE TABLE {table} (
    at timestamptz NOT NULL,
    node_id integer NOT NULL,
    seconds integer NOT NULL,
    kind text NOT NULL,
    is_primary boolean NOT NULL,
    names integer[] NOT NULL,
    calls bigint[] NOT NULL,
    usec bigint[] NOT NULL,
    rejected bigint[] NOT NULL,
    failed bigint[] NOT NULL,
    hist_names integer[] NOT NULL,
    hist_buckets smallint[] NOT NULL,
    hist_counts bigint[] NOT NULL,
    PRIMARY KEY (node_id, kind, at, is_primary)
) PARTITION BY RANGE (at);
"""


def tally(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(TALLY.format(table=table), f"DROP TABLE {table}")


class Migration(migrations.Migration):
    dependencies = [("collectors", "0002_samples")]

    operations = [
        migrations.RunSQL(NAMES, "DROP TABLE tally_name"),
        tally("tally_1m"),
        tally("tally_10m"),
        tally("tally_2h"),
        tally("tally_12h"),
    ]
