import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('collectors', '0003_tallies'),
        ('fleet', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='KnownState',
            fields=[
                ('cache', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='known_state', serialize=False, to='fleet.cache')),
                ('at', models.DateTimeField()),
                ('state', models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('labels', models.JSONField(blank=True, default=dict)),
                ('kind', models.CharField(choices=[('failover', 'failover'), ('role', 'role change'), ('restart', 'restart'), ('unreachable', 'unreachable'), ('scaling', 'scaling'), ('joined', 'node joined'), ('left', 'node left'), ('slots', 'slots moved'), ('moved', 'node moved'), ('version', 'version change'), ('config', 'config change'), ('eviction', 'eviction'), ('deploy', 'deploy'), ('scale-out', 'scale-out'), ('load-test', 'load test'), ('other', 'other')], max_length=12)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('until', models.DateTimeField(blank=True, null=True)),
                ('source', models.CharField(choices=[('detected', 'detected'), ('person', 'added by hand'), ('api', 'added by the API')], default='detected', max_length=8)),
                ('author', models.CharField(blank=True, max_length=150)),
                ('title', models.CharField(blank=True, max_length=300)),
                ('url', models.CharField(blank=True, max_length=500)),
                ('data', models.JSONField(blank=True, default=dict)),
                ('count', models.PositiveIntegerField(default=1)),
                ('cache', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='fleet.cache')),
                ('node', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='fleet.node')),
                ('story', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='collectors.event')),
            ],
            options={
                'ordering': ('-at', '-pk'),
                'indexes': [models.Index(fields=['cache', '-at'], name='event_of_cache'), models.Index(fields=['-at'], name='event_newest')],
            },
        ),
    ]
