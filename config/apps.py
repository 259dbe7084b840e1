from django.apps import AppConfig
from django.core.checks import register

from config import checks
from config.celery import app as celery_app


class ConfigConfig(AppConfig):
    name = "config"
    # Whatever Django starts sends its tasks to our broker. Not in the package: `memkeys` reads settings without Celery.
    celery = celery_app

    def ready(self) -> None:
        for check in checks.CHECKS:
            register(check)
