"""The processes that Shardwatch is made of. bin/up and docker-compose.yml run the same commands."""

PREPARE = "python manage.py prepare"
# Nobody listens to what workers tell each other.
QUIET = "--without-gossip --without-mingle --without-heartbeat"
POLLER = f"celery -A config worker -Q poll --pool threads -c 16 -n poll@%h {QUIET}"
WORKER = f"celery -A config worker -Q celery --pool prefork -c 2 -n work@%h {QUIET}"
JUDGE = f"celery -A config worker -Q judge --pool solo -n judge@%h {QUIET}"
SCANNER = f"celery -A config worker -Q scan --pool threads -c 4 -n scan@%h {QUIET}"
SENDER = f"celery -A config worker -Q alerts --pool threads -c 4 -n send@%h {QUIET}"
# A pid file would survive a kill -9 and stop the next start.
BEAT = "celery -A config beat --schedule {data}/beat --pidfile="
# Readers of switches keep their connections, and granian holds 512 a worker unless it is told otherwise.
WEB = (
    "granian --interface wsgi --host {host} --port {port} --workers 2 --blocking-threads 4 --backlog 4096 "
    "--backpressure 16384 --workers-kill-timeout 5 --respawn-failed-workers --no-ws config.wsgi:application"
)
COMMANDS = {
    "prepare": PREPARE,
    "poller": POLLER,
    "worker": WORKER,
    "judge": JUDGE,
    "scanner": SCANNER,
    "sender": SENDER,
    "beat": BEAT,
    "web": WEB,
}


def command(name: str, *, data: str, host: str, port: int) -> list[str]:
    """Return the words of one process's command."""
    return [word.format(data=data, host=host, port=port) for word in COMMANDS[name].split()]
