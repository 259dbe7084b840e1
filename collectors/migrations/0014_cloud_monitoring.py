"""Create what Cloud Monitoring is read into. Samples have no models: collectors/cloud/storing.py owns them."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# Array positions are collectors/cloud/service_metrics.py, append only.
SAMPLE = """
CREATE TABLE cloud_sample (
    at timestamptz NOT NULL,
    place_id bigint NOT NULL,
    numbers double precision[] NOT NULL,
    PRIMARY KEY (place_id, at)
) PARTITION BY RANGE (at);
"""

ROLLUP = """
CREATE TABLE {table} (
    at timestamptz NOT NULL,
    place_id bigint NOT NULL,
    samples integer NOT NULL,
    mean real[] NOT NULL,
    minimum real[] NOT NULL,
    maximum real[] NOT NULL,
    last real[] NOT NULL,
    PRIMARY KEY (place_id, at)
) PARTITION BY RANGE (at);
"""

# Intervals that have samples which no rollup holds yet.
DUE = """
CREATE TABLE cloud_rollup_due (tier text NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (tier, at));
"""


class Migration(migrations.Migration):
    dependencies = [("collectors", "0013_upkeep_events")]

    operations = [
        migrations.CreateModel(
            name="CloudFeed",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project_id", models.CharField(max_length=100, unique=True)),
                ("lease_until", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("answered_at", models.DateTimeField(null=True)),
                ("asked_until", models.DateTimeField(null=True)),
                ("newest_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("cause", models.CharField(blank=True, max_length=40)),
                ("words", models.CharField(blank=True, max_length=300)),
                ("troubles", models.JSONField(default=dict)),
                ("tokens", models.FloatField(default=0)),
                ("tokens_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("next_type", models.PositiveIntegerField(default=0)),
                ("month", models.DateField(null=True)),
                ("month_series", models.PositiveBigIntegerField(default=0)),
                ("month_calls", models.PositiveBigIntegerField(default=0)),
                ("round_series", models.PositiveIntegerField(default=0)),
                ("compared_at", models.DateTimeField(null=True)),
                ("vanished", models.JSONField(default=list)),
                ("unlisted", models.JSONField(default=list)),
            ],
            options={"ordering": ("project_id",)},
        ),
        migrations.CreateModel(
            name="CloudPlace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("node_id", models.CharField(blank=True, max_length=100)),
                ("role", models.CharField(blank=True, max_length=16)),
                ("seen_on", models.DateField()),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="places",
                        to="collectors.cloudinstance",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("instance", "node_id", "role"), name="one_row_a_place")
                ],
            },
        ),
        migrations.RunSQL(SAMPLE, "DROP TABLE cloud_sample"),
        migrations.RunSQL(ROLLUP.format(table="cloud_rollup_5m"), "DROP TABLE cloud_rollup_5m"),
        migrations.RunSQL(ROLLUP.format(table="cloud_rollup_1h"), "DROP TABLE cloud_rollup_1h"),
        migrations.RunSQL(DUE, "DROP TABLE cloud_rollup_due"),
    ]
