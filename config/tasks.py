"""The door from Celery to chores (config/chores.py)."""

from celery import Task, shared_task

from config.chores import crew


@shared_task(bind=True)
def run_chores(self: Task, names: list[str]) -> None:
    crew.run({name: self.app.tasks[name] for name in names})
