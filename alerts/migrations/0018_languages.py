from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0017_group_wait"),
    ]

    operations = [
        migrations.AddField(
            model_name="incident",
            name="titles",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="channel",
            name="language",
            field=models.CharField(
                choices=[("en", "English"), ("ja", "Japanese")], default="en", max_length=10, verbose_name="language"
            ),
        ),
    ]
