"""Ordering troubles and ending them: what `bin/manage demo_trouble` does, and the sentence that it prints."""

import redis

from demo import orders, troubles
from demo.layout import GAME, DemoError, Home, Member, read_json
from demo.nodes import client
from demo.orders import Orders
from launcher.valkey import HOST, answers, is_free
from launcher.waiting import until

OBEY_SECONDS = 10.0
RETURN_SECONDS = 20.0
SENTENCES = {
    "growth": "Keys without a TTL now pile up in {cache}, which is full in about five minutes. "
    "Look at memory, keys without TTL and evictions on /caches/{cache}/.",
    "storm": "Clients now open and close connections to {cache} ever faster; within a minute one server is at "
    "maxclients and refuses. Look at connections and rejected connections on /caches/{cache}/.",
    "bigkeys": "Four values of several megabytes are written to {cache} and read again and again. "
    "Look at memory by node and network out on /caches/{cache}/.",
    "hotshard": "Most reads of user_cache now go to one slot of {cache}. "
    "Look at commands per second and CPU by node on /caches/{cache}/.",
    "kill-node": "{node} of {cache} was killed and stays down; its replica takes over in about five seconds. "
    "Look at the topology on /caches/{cache}/.",
    "unplug": "The demo's Google Cloud answers nobody any more. Look at its project on /projects/ and at the findings: "
    "no alert may come of it.",
}


class MisfitError(DemoError):
    """The cache cannot have this trouble."""


def make(home: Home, trouble: str, cache: str) -> str:
    """Begin a trouble, or end all with "stop"; return what was done and where to look.

    Raise MisfitError where the cache cannot have it, DemoError where fleet or traffic do not run.
    """
    if not home.is_running("fleet"):
        raise DemoError(f"The demo fleet in {home.path} does not run. Start bin/up or manage.py demo_fleet first.")
    if trouble == "stop":
        return stop(home)
    if not troubles.suits(trouble, cache):
        raise MisfitError(f"{trouble} needs a cluster, and {cache} is a single primary; leave out --cache.")
    if trouble == "kill-node":
        return kill_node(home)
    if trouble == "unplug":
        return unplug(home)
    if not home.is_running("traffic"):
        raise DemoError("The traffic of the demo fleet does not run, and it makes this trouble: manage.py demo_traffic")
    await_traffic(home, orders.order(home, trouble, cache=cache))
    return f"{SENTENCES[trouble].format(cache=cache)} End it with: bin/manage demo_trouble stop"


def kill_node(home: Home) -> str:
    if held := orders.read(home).held_node:
        return f"{held} is down already. Bring it back with: bin/manage demo_trouble stop"
    victim = primaries(home)[-1]
    orders.order(home, "kill-node", cache=GAME, node=victim.name)
    if not until(lambda: not answers((HOST, victim.port)), OBEY_SECONDS):
        raise DemoError(f"{victim.name} was not killed within {OBEY_SECONDS:.0f} s; look at what demo_fleet prints.")
    said = SENTENCES["kill-node"].format(node=f"{victim.name} (port {victim.port})", cache=GAME)
    return f"{said} End it with: bin/manage demo_trouble stop"


def unplug(home: Home) -> str:
    if not home.is_running("cloud"):
        raise DemoError(
            "The demo's Google Cloud does not run. Start bin/up or bin/manage cloud_emulator --register first."
        )
    orders.order(home, "unplug")
    port = int(read_json(home.path / "cloud.json")["port"])
    if not until(lambda: is_free(port), OBEY_SECONDS):
        raise DemoError(f"It was not unplugged within {OBEY_SECONDS:.0f} s; look at what cloud_emulator prints.")
    return f"{SENTENCES['unplug']} End it with: bin/manage demo_trouble stop"


def primaries(home: Home) -> list[Member]:
    """Return the cluster's primaries as they are now. Raise DemoError where there are none."""
    found = [member for member in home.members() if member.cache == GAME and is_primary(member)]
    if not found:
        raise DemoError("No primary of the demo cluster answers.")
    return found


def is_primary(member: Member) -> bool:
    try:
        with client(member.port) as server:
            return bool(server.info("replication")["role"] == "master")
    except redis.RedisError:
        return False


def stop(home: Home) -> str:
    """End all troubles and remove their traces; return how it went."""
    ended = orders.read(home).names()
    cleared = orders.clear(home)
    if home.is_running("traffic"):
        await_traffic(home, cleared)
    members = home.members()
    if not until(lambda: all(answers((HOST, member.port)) for member in members), RETURN_SECONDS):
        raise DemoError(f"A server did not come back within {RETURN_SECONDS:.0f} s; look at what demo_fleet prints.")
    swept = troubles.sweep(members)
    what = f"Ended {', '.join(ended)}" if ended else "No trouble was on"
    return f"{what}; all servers are up and {swept} extra keys were deleted."


def await_traffic(home: Home, ordered: Orders) -> None:
    """Wait until the traffic obeys. Raise DemoError where it does not."""
    if not until(lambda: read_json(home.path / "traffic.json").get("obeyed") == ordered.revision, OBEY_SECONDS):
        raise DemoError(f"The traffic did not react within {OBEY_SECONDS:.0f} s; look at what demo_traffic prints.")
