
import alerts.route
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0002_rules_and_alerts'),
        ('collectors', '0007_key_scans'),
    ]

    operations = [
        migrations.AddField(
            model_name='incident',
            name='news_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='incident',
            name='told_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='incident',
            name='told_severity',
            field=models.CharField(blank=True, max_length=8),
        ),
        migrations.AlterField(
            model_name='alert',
            name='reason',
            field=models.CharField(choices=[('threshold', 'threshold'), ('no_data', 'no data'), ('eval_error', 'evaluation error'), ('stale_source', 'stale source'), ('switched_off', 'switched off'), ('paused', 'paused'), ('rule_changed', 'rule changed'), ('rule_deleted', 'rule deleted'), ('node_left', 'node left'), ('cache_deleted', 'cache deleted')], default='threshold', max_length=16),
        ),
        migrations.AlterField(
            model_name='transition',
            name='reason',
            field=models.CharField(choices=[('threshold', 'threshold'), ('no_data', 'no data'), ('eval_error', 'evaluation error'), ('stale_source', 'stale source'), ('switched_off', 'switched off'), ('paused', 'paused'), ('rule_changed', 'rule changed'), ('rule_deleted', 'rule deleted'), ('node_left', 'node left'), ('cache_deleted', 'cache deleted')], max_length=16),
        ),
        migrations.CreateModel(
            name='Route',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField(default=0)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('matchers', models.JSONField(blank=True, default=list)),
                ('group_by', models.JSONField(default=alerts.route.default_grouping)),
                ('interval_seconds', models.PositiveIntegerField(default=60)),
                ('repeat_seconds', models.PositiveIntegerField(default=14400)),
                ('goes_on', models.BooleanField(default=False)),
                ('channels', models.ManyToManyField(blank=True, related_name='routes', to='alerts.channel')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='alerts.route')),
            ],
            options={
                'verbose_name': 'route',
                'ordering': ('position', 'pk'),
            },
        ),
        migrations.AddField(
            model_name='incident',
            name='route',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='alerts.route'),
        ),
        migrations.CreateModel(
            name='Silence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('matchers', models.JSONField()),
                ('author', models.CharField(max_length=150, verbose_name='author')),
                ('comment', models.CharField(max_length=500, verbose_name='comment')),
                ('starts_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='from')),
                ('ends_at', models.DateTimeField(verbose_name='until')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='silences', to='collectors.event')),
            ],
            options={
                'verbose_name': 'silence',
                'ordering': ('-starts_at',),
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('what', models.CharField(choices=[('told', 'told'), ('joined', 'joined an incident that was told already'), ('waited', 'kept back: the last message was too recent'), ('repeated', 'told again'), ('silenced', 'silenced'), ('hidden', 'hidden behind another alert'), ('flapping', 'kept back: it flaps'), ('storm', 'told together with many others'), ('nowhere', 'no channel on its way'), ('ended', 'told to be over'), ('untold', 'over before anybody was told')], max_length=10)),
                ('data', models.JSONField(default=dict)),
                ('alert', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='alerts.alert')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='alerts.incident')),
            ],
            options={
                'ordering': ('at', 'pk'),
                'indexes': [models.Index(fields=['incident', 'at'], name='decisions_of_incident')],
            },
        ),
        migrations.AddConstraint(
            model_name='route',
            constraint=models.UniqueConstraint(condition=models.Q(('parent', None)), fields=('name',), name='one_root_a_name'),
        ),
        migrations.AddIndex(
            model_name='silence',
            index=models.Index(fields=['ends_at'], name='silence_end'),
        ),
    ]
