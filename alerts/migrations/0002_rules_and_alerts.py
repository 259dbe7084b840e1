
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0001_alerts'),
        ('fleet', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='EvaluationMark',
            fields=[
                ('cache', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='evaluation_mark', serialize=False, to='fleet.cache')),
                ('tick_at', models.DateTimeField()),
                ('judged_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=63, unique=True, verbose_name='key')),
                ('text', models.JSONField()),
                ('origin', models.CharField(choices=[('pack', 'default pack'), ('person', 'made here'), ('file', 'from a file')], default='person', max_length=6)),
                ('is_enabled', models.BooleanField(default=True, verbose_name='on')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('edited_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('revision', models.PositiveIntegerField(default=1, editable=False)),
                ('matched_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('failed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('failed_words', models.CharField(blank=True, editable=False, max_length=200)),
            ],
            options={
                'verbose_name': 'rule',
                'ordering': ('key',),
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule_key', models.CharField(max_length=63)),
                ('target', models.CharField(max_length=32)),
                ('cache_name', models.CharField(max_length=63)),
                ('node_address', models.CharField(blank=True, max_length=300)),
                ('labels', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('pending', 'pending'), ('firing', 'firing'), ('recovering', 'recovering'), ('resolved', 'resolved')], max_length=10)),
                ('severity', models.CharField(blank=True, max_length=8)),
                ('reason', models.CharField(choices=[('threshold', 'threshold'), ('no_data', 'no data'), ('eval_error', 'evaluation error'), ('stale_source', 'stale source'), ('switched_off', 'switched off'), ('paused', 'paused'), ('rule_changed', 'rule changed'), ('rule_deleted', 'rule deleted'), ('node_left', 'node left'), ('cache_deleted', 'cache deleted')], default='threshold', max_length=12)),
                ('value', models.FloatField(null=True)),
                ('bound', models.FloatField(null=True)),
                ('warning_clock', models.JSONField(default=list)),
                ('critical_clock', models.JSONField(default=list)),
                ('began_at', models.DateTimeField()),
                ('fired_at', models.DateTimeField(null=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('judged_at', models.DateTimeField()),
                ('cache', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='fleet.cache')),
                ('incident', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='alerts.incident')),
                ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='fleet.node')),
                ('shard', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='fleet.shard')),
                ('rule', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='alerts.rule')),
            ],
            options={
                'ordering': ('-began_at',),
            },
        ),
        migrations.CreateModel(
            name='Transition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('was', models.CharField(blank=True, max_length=10)),
                ('state', models.CharField(choices=[('pending', 'pending'), ('firing', 'firing'), ('recovering', 'recovering'), ('resolved', 'resolved')], max_length=10)),
                ('severity', models.CharField(blank=True, max_length=8)),
                ('reason', models.CharField(choices=[('threshold', 'threshold'), ('no_data', 'no data'), ('eval_error', 'evaluation error'), ('stale_source', 'stale source'), ('switched_off', 'switched off'), ('paused', 'paused'), ('rule_changed', 'rule changed'), ('rule_deleted', 'rule deleted'), ('node_left', 'node left'), ('cache_deleted', 'cache deleted')], max_length=12)),
                ('value', models.FloatField(null=True)),
                ('bound', models.FloatField(null=True)),
                ('alert', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transitions', to='alerts.alert')),
            ],
            options={
                'ordering': ('at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Override',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('labels', models.JSONField(blank=True, default=dict)),
                ('bounds', models.JSONField(blank=True, default=dict)),
                ('hold', models.PositiveIntegerField(blank=True, null=True)),
                ('keep', models.PositiveIntegerField(blank=True, null=True)),
                ('is_enabled', models.BooleanField(blank=True, null=True)),
                ('note', models.CharField(blank=True, max_length=300)),
                ('cache', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.cache')),
                ('node', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.node')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='overrides', to='alerts.rule')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('cache', None), ('labels', {}), ('node', None), _negated=True), name='override_names_its_place')],
            },
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('state', 'resolved'), _negated=True), fields=['cache'], name='alert_active'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['-resolved_at'], name='alert_resolved'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(fields=('rule', 'target'), name='one_alert_a_target'),
        ),
        migrations.AddIndex(
            model_name='transition',
            index=models.Index(fields=['alert', 'at'], name='transitions_of_alert'),
        ),
    ]
