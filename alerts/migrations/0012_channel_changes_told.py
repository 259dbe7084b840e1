from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0011_windows"),
    ]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="changes_told",
            field=models.BigIntegerField(editable=False, null=True),
        ),
    ]
