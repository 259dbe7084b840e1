from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='cache',
            name='login',
            field=models.CharField(choices=[('password', 'the password given here'), ('google-iam', 'a token of Google IAM')], default='password', max_length=12, verbose_name='logs in with'),
        ),
        migrations.AddField(
            model_name='cache',
            name='reach',
            field=models.CharField(choices=[('nodes', 'yes'), ('service', 'no, read Cloud Monitoring alone')], default='nodes', max_length=8, verbose_name='nodes can be reached'),
        ),
    ]
