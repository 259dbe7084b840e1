from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('collectors', '0014_cloud_monitoring'),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='kind',
            field=models.CharField(choices=[('failover', 'failover'), ('role', 'role change'), ('restart', 'restart'), ('unreachable', 'unreachable'), ('scaling', 'scaling'), ('joined', 'node joined'), ('left', 'node left'), ('slots', 'slots moved'), ('moved', 'node moved'), ('version', 'version change'), ('config', 'config change'), ('eviction', 'eviction'), ('key-scan', 'key scan'), ('switch', 'switch'), ('maintenance', 'maintenance'), ('service', 'state in the service'), ('cloud', 'found or gone in Google Cloud'), ('deploy', 'deploy'), ('scale-out', 'scale-out'), ('load-test', 'load test'), ('other', 'other')], max_length=12),
        ),
    ]
