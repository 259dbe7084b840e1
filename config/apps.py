from django.apps import AppConfig
from django.core.checks import register

from config import checks


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        for check in checks.CHECKS:
            register(check)
