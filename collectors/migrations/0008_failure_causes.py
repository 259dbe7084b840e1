"""Failures as cause and words instead of English sentences; what is stored now is older than the next poll."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("collectors", "0007_key_scans"),)

    operations = (
        migrations.RemoveField("nodestatus", "failed_reason"),
        migrations.AddField(
            "nodestatus", "failed_cause", models.CharField(blank=True, default="", max_length=40), False
        ),
        migrations.AddField(
            "nodestatus", "failed_words", models.CharField(blank=True, default="", max_length=200), False
        ),
        migrations.RemoveField("clientreading", "failure"),
        migrations.AddField(
            "clientreading", "failed_cause", models.CharField(blank=True, default="", max_length=40), False
        ),
        migrations.AddField(
            "clientreading", "failed_words", models.CharField(blank=True, default="", max_length=200), False
        ),
    )
