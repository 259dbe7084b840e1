"""Where messages may go: host names resolved, private networks refused unless allowed."""

import asyncio
import socket
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from alerts.causes import Cause
from alerts.channel import Final, RetryAt
from alerts.reach import Reach


class TargetError(Exception):
    """Nothing can be sent there; `outcome` says why."""

    def __init__(self, outcome: RetryAt | Final) -> None:
        super().__init__(outcome.cause, outcome.words)
        self.outcome = outcome


async def addresses(host: str, port: int, seconds: float) -> list[str]:
    """Return the addresses of a host that messages may go to, checked once so that no later answer counts.

    Raise TargetError where DNS gives none in time, or only such as are not allowed.
    """
    try:
        async with asyncio.timeout(seconds):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise TargetError(RetryAt(cause=Cause.DNS_SLOW, words=host)) from None
    except (OSError, UnicodeError):
        raise TargetError(RetryAt(cause=Cause.UNKNOWN_HOST, words=host)) from None
    named, ours = list(dict.fromkeys(str(entry[4][0]) for entry in found)), reach()
    allowed = [text for text in named if ours.allows(host, port, text)]
    if not allowed:
        raise TargetError(Final(cause=Cause.PRIVATE_ADDRESS, words=host))
    return allowed


def reach() -> Reach:
    """Return which addresses messages may go to, as the environment says."""
    pointed = (urlsplit(address) for address in (settings.PAGERDUTY_URL, settings.SLACK_URL, settings.HEARTBEAT_URL))
    own = tuple((parts.hostname or "", port_of(parts)) for parts in pointed if parts.hostname)
    return Reach(tuple(settings.ALLOWED_PRIVATE_HOSTS), own)


def port_of(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
