"""Server kinds and what each can do; templates and rules ask for abilities, never for a name."""

from dataclasses import dataclass

from django.db import models
from django.utils.translation import gettext_lazy as _


class Engine(models.TextChoices):
    UNKNOWN = "", _("not known yet")
    REDIS = "redis", "Redis"
    VALKEY = "valkey", "Valkey"
    MEMCACHED = "memcached", "Memcached"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What servers of one kind have, so that pages leave out what could only be empty."""

    replication: bool = True
    persistence: bool = True
    # Counts and times by command, and errors by type.
    command_statistics: bool = True
    slow_log: bool = True
    latency_events: bool = True
    # Connections have names, users, libraries and buffers, and not only an address.
    client_names: bool = True
    # Logical databases, policies, users, and keys that can be walked through.
    key_scans: bool = True
    # One thread runs the commands: when its core is full, all clients wait.
    one_thread: bool = True
    # Memory in classes of chunks, which fill and evict apart.
    slabs: bool = False


FULL = Abilities()
FEW = Abilities(
    replication=False,
    persistence=False,
    command_statistics=False,
    slow_log=False,
    latency_events=False,
    client_names=False,
    key_scans=False,
    one_thread=False,
    slabs=True,
)


def without(ability: str) -> list[str]:
    """Return the engines that lack an ability."""
    return [engine.value for engine in Engine if not getattr(abilities_of(engine), ability)]


def abilities_of(engine: str) -> Abilities:
    """Return what servers of a kind can do; one that is not known yet may turn out to do everything."""
    return FEW if engine == Engine.MEMCACHED else FULL
