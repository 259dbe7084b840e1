from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerts", "0015_route_hours")]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="changes_leased_until",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="channel",
            name="switches_told",
            field=models.BigIntegerField(editable=False, null=True),
        ),
    ]
