"""Services to send to, and settings that let tests reach them."""

from collections.abc import Callable, Iterator

import pytest
from pytest_django.fixtures import Settings

from alerts.tests.peers import Script, Service, says

StartService = Callable[..., Service]
ACCEPTS = says(202, {"status": "success", "message": "Event processed"})


@pytest.fixture
def loopback(settings: Settings) -> None:
    """Let messages go to this machine, however busy it is."""
    settings.ALLOWED_PRIVATE_HOSTS = ["localhost"]
    settings.DELIVERY_CONNECT_TIMEOUT_SECONDS = settings.DELIVERY_READ_TIMEOUT_SECONDS = 20.0


@pytest.fixture
def short_read(loopback: None, settings: Settings) -> None:
    """Wait for answers only shortly: for services that give none."""
    settings.DELIVERY_READ_TIMEOUT_SECONDS = 0.5


@pytest.fixture
def service(loopback: None) -> Iterator[StartService]:
    """Start scripted services: `service(says(503)).url`."""
    started: list[Service] = []

    def start(script: Script = ACCEPTS, **given: object) -> Service:
        started.append(Service(script, **given))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def pagerduty(service: StartService, settings: Settings) -> Service:
    """A PagerDuty that accepts; exchange its `script` for another."""
    made = service(ACCEPTS)
    settings.PAGERDUTY_URL = made.url
    return made
