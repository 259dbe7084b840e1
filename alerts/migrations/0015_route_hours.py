import datetime

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerts", "0014_switched_off")]

    operations = [
        migrations.AddField(
            model_name="route",
            name="ends",
            field=models.TimeField(default=datetime.time(0, 0), verbose_name="to"),
        ),
        migrations.AddField(
            model_name="route",
            name="starts",
            field=models.TimeField(default=datetime.time(0, 0), verbose_name="from"),
        ),
        migrations.AddField(
            model_name="route",
            name="weekdays",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="route",
            name="zone",
            field=models.CharField(default="UTC", max_length=63, verbose_name="time zone"),
        ),
        migrations.AlterField(
            model_name="window",
            name="ends",
            field=models.TimeField(default=datetime.time(0, 0), verbose_name="to"),
        ),
        migrations.AlterField(
            model_name="window",
            name="starts",
            field=models.TimeField(default=datetime.time(0, 0), verbose_name="from"),
        ),
        migrations.AlterField(
            model_name="window",
            name="zone",
            field=models.CharField(default="UTC", max_length=63, verbose_name="time zone"),
        ),
    ]
