import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import collectors.cloud.models
import fleet.secrets


class Migration(migrations.Migration):

    dependencies = [
        ('collectors', '0010_switch_events'),
        ('fleet', '0002_login_and_reach'),
    ]

    operations = [
        migrations.CreateModel(
            name='CloudProject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('project_id', models.CharField(max_length=100, unique=True, validators=[django.core.validators.RegexValidator('\\A(?:[a-z0-9.-]{3,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\\Z', "A project id has 6 to 30 small letters, digits and hyphens, begins with a letter and does not end with a hyphen. Give the id, not the project's name or number.")], verbose_name='project id')),
                ('metrics_project_id', models.CharField(blank=True, max_length=100, validators=[django.core.validators.RegexValidator('\\A(?:[a-z0-9.-]{3,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\\Z', "A project id has 6 to 30 small letters, digits and hyphens, begins with a letter and does not end with a hyphen. Give the id, not the project's name or number.")], verbose_name='metrics from project')),
                ('credentials', models.CharField(choices=[('adc', 'application default'), ('workload-identity', 'workload identity'), ('key', 'key of a service account')], default='adc', max_length=20, verbose_name='credentials')),
                ('key', fleet.secrets.SecretField(blank=True, default='', verbose_name='service account key (JSON)')),
                ('principal', models.CharField(blank=True, max_length=200)),
                ('products', models.JSONField(default=collectors.cloud.models.all_products, verbose_name='products')),
                ('interval_seconds', models.PositiveIntegerField(default=60, validators=[django.core.validators.MinValueValidator(30), django.core.validators.MaxValueValidator(3600)], verbose_name='look every (seconds)')),
                ('approve', models.CharField(choices=[('ask', 'ask for each'), ('rule', 'add those that fit the rule, ask for the others'), ('all', 'add all')], default='ask', max_length=4, verbose_name='what is found')),
                ('approve_labels', models.JSONField(blank=True, default=dict, verbose_name='with the labels')),
                ('approve_names', models.CharField(blank=True, max_length=500, verbose_name='with a name like')),
                ('reach', models.CharField(choices=[('nodes', 'yes'), ('service', 'no, read Cloud Monitoring alone')], default='nodes', max_length=8, verbose_name='nodes can be reached')),
                ('is_paused', models.BooleanField(default=False, verbose_name='paused')),
                ('endpoint', models.CharField(blank=True, max_length=200)),
                ('is_demo', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('revision', models.PositiveIntegerField(default=1, editable=False)),
                ('discovered_at', models.DateTimeField(null=True)),
                ('lease_until', models.DateTimeField(default=django.utils.timezone.now)),
                ('state', models.JSONField(default=dict)),
            ],
            options={
                'verbose_name': 'project',
                'ordering': ('project_id',),
            },
        ),
        migrations.CreateModel(
            name='CloudInstance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('product', models.CharField(choices=[('redis', 'Memorystore for Redis'), ('redis-cluster', 'Memorystore for Redis Cluster'), ('valkey', 'Memorystore for Valkey'), ('memcached', 'Memorystore for Memcached')], max_length=16)),
                ('name', models.CharField(max_length=300)),
                ('uid', models.CharField(max_length=100)),
                ('region', models.CharField(max_length=64)),
                ('short_id', models.CharField(max_length=100)),
                ('snapshot', models.JSONField(default=dict)),
                ('fingerprint', models.CharField(blank=True, max_length=32)),
                ('state', models.CharField(choices=[('up', 'up'), ('changing', 'being changed'), ('repair', 'being repaired'), ('maintenance', 'in maintenance'), ('gone', 'being deleted'), ('unknown', 'unknown')], default='unknown', max_length=12)),
                ('state_name', models.CharField(blank=True, max_length=40)),
                ('decision', models.CharField(choices=[('waiting', 'waits for approval'), ('approved', 'approved'), ('ignored', 'ignored')], default='waiting', max_length=8)),
                ('applied', models.JSONField(default=dict)),
                ('first_seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('gone_at', models.DateTimeField(null=True)),
                ('changed_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('cache', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='cloud', to='fleet.cache')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='instances', to='collectors.cloudproject')),
            ],
            options={
                'ordering': ('product', 'region', 'short_id'),
                'indexes': [models.Index(fields=['product', 'name'], name='instance_by_name')],
                'constraints': [models.UniqueConstraint(fields=('project', 'product', 'name', 'uid'), name='one_row_a_cloud_instance')],
            },
        ),
    ]
