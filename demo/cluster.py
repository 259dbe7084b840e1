"""Making one cluster out of six empty servers, and telling when it is whole."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import redis

from demo.layout import HOST, DemoError, Member
from demo.nodes import client

SLOTS = 16_384
LOOK_SECONDS = 0.05


def until(claim: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again until the claim holds; False when the time is over. A server that is down denies it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if claim():
                return True
        except redis.RedisError:
            pass
        time.sleep(LOOK_SECONDS)
    return False


def answers(member: Member) -> bool:
    with client(member.port) as server:
        return bool(server.ping())


def ask(member: Member, *words: str | int) -> Any:
    with client(member.port) as server:
        return server.execute_command(*words)


def cluster_info(member: Member) -> dict[str, str]:
    return dict(ask(member, "CLUSTER INFO"))


def form(fleet: Sequence[Member]) -> None:
    """Join empty servers to a cluster with the slots spread evenly. Raise DemoError where they do not agree."""
    primaries = [member for member in fleet if not member.primary]
    for index, primary in enumerate(primaries):
        first, last = SLOTS * index // len(primaries), SLOTS * (index + 1) // len(primaries) - 1
        ask(primary, "CLUSTER ADDSLOTSRANGE", first, last)
        # Equal epochs would be settled by collisions, which takes seconds.
        ask(primary, "CLUSTER SET-CONFIG-EPOCH", index + 1)
    for member in fleet[1:]:
        ask(fleet[0], "CLUSTER MEET", HOST, member.port)
    identities = {primary.name: str(ask(primary, "CLUSTER MYID")) for primary in primaries}
    for member in fleet:
        if member.primary and not until(lambda m=member: replicates(m, identities[m.primary]), 10):  # type: ignore[misc]
            raise DemoError(f"{member.name} did not become a replica of {member.primary}.")


def replicates(member: Member, primary_identity: str) -> bool:
    """Order a replica to follow its primary; refused, and so False, until gossip has told it of the primary."""
    return ask(member, "CLUSTER REPLICATE", primary_identity) in {True, "OK"}


def is_whole(member: Member, size: int) -> bool:
    """Tell whether a server sees all slots served and at least `size` members."""
    told = cluster_info(member)
    return (
        told["cluster_state"] == "ok"
        and int(told["cluster_slots_ok"]) == SLOTS
        and int(told["cluster_known_nodes"]) >= size
    )


def follows(member: Member) -> bool:
    """Tell whether a server is a primary, or a replica whose link to its primary is up."""
    with client(member.port) as server:
        replication: dict[str, str] = server.info("replication")
    return replication["role"] == "master" or replication["master_link_status"] == "up"
