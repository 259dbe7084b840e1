from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0002_login_and_reach'),
    ]

    operations = [
        migrations.AddField(
            model_name='cache',
            name='service_maxclients',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='cache',
            name='service_memory_bytes',
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
    ]
