"""The demo's Google Cloud in the foreground: an emulator that the demo fleet feeds."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from collectors.cloud.products import Product
from demo import memcached, orders, projects
from demo.cloud import project
from demo.cloud.emulator import Emulator
from demo.cloud.feed import feed
from demo.layout import DemoError, Home, Member, read_json, write_json
from launcher.trouble import LauncherError
from launcher.valkey import free_port, is_free

LOOK_SECONDS = 0.2
SAMPLE_SECONDS = 60.0
# Where nothing is hidden, nobody waits for a whole minute either.
PROMPT_SAMPLE_SECONDS = 10.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Settled:
    """What stays from start to start: the ports, and when the instances were made."""

    port: int
    page_cache: tuple[int, int]
    born: datetime
    is_first: bool

    @classmethod
    def of(cls, home: Home) -> "Settled":
        """Return what the first start settled, with other ports in place of those that somebody took."""
        kept = read_json(home.path / "cloud.json")
        first, second = kept.get("page_cache", (None, None))
        born = kept.get("born") or datetime.now(UTC).isoformat(timespec="seconds")
        ports = own_port(kept.get("port")), (own_port(first), own_port(second))
        write_json(home.path / "cloud.json", {"port": ports[0], "page_cache": ports[1], "born": born})
        return cls(*ports, datetime.fromisoformat(born), is_first=not kept)


def own_port(kept: int | None) -> int:
    return kept if kept and is_free(kept) else free_port()


def serve(home: Home, port: int, delay: float, ending: threading.Event, say: Say) -> None:
    """Serve the demo fleet's numbers beside the demo's own emulator, and without its page cache; 0 is any port."""
    emulator = Emulator(port, delay)
    with fed(emulator, home.members(), None, datetime.now(UTC)):
        say(f"{project.PROJECT} is served on {emulator.address}, points are hidden for {delay:g} s")
        ending.wait()


def run(home: Home, delay: float, ending: threading.Event, say: Say) -> None:
    """Be the demo's Google Cloud until told to end, through restarts of the fleet. Raise DemoError where it cannot."""
    with home.claim("cloud"):
        settled = Settled.of(home)
        page_cache = settled.page_cache if memcached.is_installed() else None
        if page_cache is None:
            say("no memcached is installed here, so the project has no Memcached instance")
        log = home.path / "memcached.log"
        try:
            with memcached.page_cache(log, page_cache) if page_cache else nullcontext():
                while not ending.wait(LOOK_SECONDS):
                    if home.ready_file.exists():
                        serve_fleet(home, settled, page_cache, delay, ending, say)
        except LauncherError as error:
            raise DemoError(str(error)) from error


def serve_fleet(
    home: Home, settled: Settled, page_cache: tuple[int, int] | None, delay: float, ending: threading.Event, say: Say
) -> None:
    """Serve until told to end or until the fleet has moved to other ports; obey the orders of troubles."""
    fleet, emulator = home.members(), Emulator(settled.port, delay)
    products = [product for product in Product if page_cache or product != Product.MEMCACHED]
    with fed(emulator, fleet, page_cache, settled.born):
        if projects.register(project.PROJECT, emulator.address, products, settled.is_first):
            say(f"added {project.PROJECT} to the Google Cloud projects")
        say(f"{project.PROJECT} is served on {emulator.address}")
        while not ending.wait(LOOK_SECONDS) and home.members() == fleet:
            obey(home, emulator, say)
            project.plan_again(emulator, datetime.now(UTC))


def obey(home: Home, emulator: Emulator, say: Say) -> None:
    """Pull the plug while that is ordered."""
    is_cut = "unplug" in orders.read(home).active
    if is_cut and emulator.is_running:
        emulator.stop()
        say("unplugged, as ordered")
    elif not is_cut and not emulator.is_running:
        emulator.start()
        say("plugged in again")


@contextmanager
def fed(emulator: Emulator, fleet: list[Member], page_cache: tuple[int, int] | None, born: datetime) -> Iterator[None]:
    """Run an emulator and feed it. Raise DemoError where its port is taken."""
    instances, over = project.furnish(emulator, fleet, page_cache, born), threading.Event()
    seconds = SAMPLE_SECONDS if emulator.metrics.delay else PROMPT_SAMPLE_SECONDS
    feeding = threading.Thread(target=feed, args=(emulator.points, instances, seconds, over), name="feed")
    try:
        emulator.start()
    except RuntimeError as error:
        raise DemoError(f"Port {emulator.port} is taken by another program. Name another one with --port.") from error
    feeding.start()
    try:
        yield
    finally:
        over.set()
        feeding.join()
        emulator.stop()
