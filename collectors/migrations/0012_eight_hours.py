"""Create the coarsest rollup. It is filled from the hourly one by the next runs of collectors/retention.py."""

from django.db import migrations

ROLLUP = """
CREATE TABLE rollup_8h (
    at timestamptz NOT NULL,
    node_id integer NOT NULL,
    samples integer NOT NULL,
    mean real[] NOT NULL,
    minimum real[] NOT NULL,
    maximum real[] NOT NULL,
    last real[] NOT NULL,
    PRIMARY KEY (node_id, at)
) PARTITION BY RANGE (at);
"""


class Migration(migrations.Migration):
    dependencies = [("collectors", "0011_cloud_projects")]

    operations = [migrations.RunSQL(ROLLUP, "DROP TABLE rollup_8h")]
