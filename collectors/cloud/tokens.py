"""Access tokens of Google IAM as passwords: kept by this process, and renewed before they end.

An open connection outlives its token, so only new connections ask for one.
"""

import threading
import time
from datetime import UTC, timedelta
from functools import partial

from django.conf import settings
from django.utils import timezone
from google.auth import default
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request

from collectors.cloud.identities import SCOPES, credentials_of
from collectors.cloud.models import CloudProject
from collectors.failures import Cause, ReadError
from collectors.steps import Step
from fleet.models import Cache

# A token that ends sooner is renewed first; the service gives them for an hour. Google's own library renews then:
# its metadata server has no newer one before.
LEAST_LIFE = timedelta(minutes=3, seconds=45)
# Many nodes connect at once: a failure, and a token that was just renewed, count for all of them so long.
AGAIN_SECONDS = 10.0


class TokenSource:
    """The tokens of one identity; safe to use from several threads."""

    def __init__(self, credentials: Credentials | None = None, again_seconds: float = AGAIN_SECONDS) -> None:
        self._credentials, self._again_seconds = credentials, again_seconds
        self._lock = threading.Lock()
        self._failure: ReadError | None = None
        self._asked_at = float("-inf")
        self._is_refused = False

    def text(self) -> str:
        """Return a token that is good for a while. Blocks on the network; raise ReadError where none is to be had."""
        with self._lock:
            if self._needs_new() and self._may_ask():
                self._renew()
            # Where renewing failed, what is left of the old token's life still counts.
            if self._failure and not self._lives(timedelta(0)):
                raise self._failure
            return str(self._credentials.token) if self._credentials else ""

    def refuse(self, text: str) -> None:
        """Take note that a server did not accept this token: the next one who asks gets another."""
        with self._lock:
            self._is_refused |= self._credentials is not None and self._credentials.token == text

    def _needs_new(self) -> bool:
        return self._is_refused or not self._lives(LEAST_LIFE)

    def _may_ask(self) -> bool:
        if not (self._failure or self._is_refused or self._lives(timedelta(0))):
            return True
        return time.monotonic() - self._asked_at >= self._again_seconds

    def _lives(self, least: timedelta) -> bool:
        """Return whether the token in hand is good for at least so long."""
        if self._credentials is None or not self._credentials.token:
            return False
        # Credentials name the end in UTC, without a zone.
        end = self._credentials.expiry
        return end is None or end.replace(tzinfo=UTC) - timezone.now() > least

    def _renew(self) -> None:
        self._asked_at = time.monotonic()
        try:
            if self._credentials is None:
                self._credentials = default(scopes=SCOPES)[0]
            self._credentials.refresh(partial(Request(), timeout=settings.CLOUD_TOKEN_TIMEOUT_SECONDS))
        except GoogleAuthError as error:
            cause = Cause.TOKEN_AWAY if isinstance(error, TransportError) else Cause.TOKEN_MISSING
            self._failure = ReadError(Step.AUTH, cause, error.args[0] if error.args else error)
        else:
            self._failure, self._is_refused = None, False


# By project and its revision; (0, 0) is the identity of the machine.
_sources: dict[tuple[int, int], TokenSource] = {}


def source_of(cache: Cache) -> TokenSource:
    """Return the tokens that a cache is signed in to with: its project's, or those of this machine."""
    project = CloudProject.objects.filter(instances__cache=cache).first()
    key = (project.pk, project.revision) if project else (0, 0)
    if key not in _sources:
        _sources[key] = TokenSource(credentials_of(project) if project else None)
    return _sources[key]
