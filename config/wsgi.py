"""The WSGI entry that the web server loads."""

import os
from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
behind = get_wsgi_application()

# What needs Django's applications can be imported only now.
from switches.board import Board  # noqa: E402
from switches.gate import Gate  # noqa: E402

application = Gate(Board(Path(settings.SWITCHES_COPY) if settings.SWITCHES_COPY else None), behind)
