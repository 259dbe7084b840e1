"""What we watch: caches, their shards and their nodes."""

from typing import Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from fleet.addresses import Address, parse_addresses
from fleet.engines import Abilities, Engine, abilities_of
from fleet.secrets import SecretField

NAME_RULE = RegexValidator(
    r"\A[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?\Z",
    _("Use 1 to 63 small letters, digits, dots and hyphens, beginning and ending with a letter or digit."),
)


def default_poll_interval() -> int:
    return int(settings.POLL_INTERVAL_SECONDS)


class Topology(models.TextChoices):
    UNKNOWN = "", _("not known yet")
    CLUSTER = "cluster", _("cluster")
    STANDALONE = "standalone", _("standalone")
    SHARDED = "sharded", _("sharded by clients")


class Login(models.TextChoices):
    """What is sent as the password."""

    PASSWORD = "password", _("the password given here")
    GOOGLE_IAM = "google-iam", _("a token of Google IAM")


class Reach(models.TextChoices):
    """From where a cache is read. By the service: its nodes cannot be reached from here and are not polled."""

    NODES = "nodes", _("yes")
    SERVICE = "service", _("no, read Cloud Monitoring alone")


class Cache(models.Model):
    """A cluster, an instance with its replicas, or a list of servers that clients shard over."""

    name = models.CharField(_("name"), max_length=63, unique=True, validators=[NAME_RULE])
    address = models.TextField(
        _("address"),
        max_length=4000,
        help_text=_("redis://host:6379, with TLS rediss://host:6379; one seed of a cluster is enough."),
    )
    username = models.CharField(_("user"), max_length=200, blank=True)
    password = SecretField(_("password"), blank=True, default="")
    ca_bundle = models.TextField(_("CA bundle (PEM)"), blank=True)
    client_certificate = models.TextField(_("client certificate (PEM)"), blank=True)
    client_key = SecretField(_("client key (PEM)"), blank=True, default="")
    tls_check_hostname = models.BooleanField(_("check the host name in the certificate"), default=True)
    login = models.CharField(_("logs in with"), max_length=12, choices=Login.choices, default=Login.PASSWORD)
    reach = models.CharField(_("nodes can be reached"), max_length=8, choices=Reach.choices, default=Reach.NODES)
    labels = models.JSONField(_("labels"), default=dict, blank=True)
    poll_interval_seconds = models.PositiveIntegerField(
        _("poll interval (seconds)"),
        default=default_poll_interval,
        validators=[MinValueValidator(1), MaxValueValidator(120)],
    )
    plan_memory_bytes = models.PositiveBigIntegerField(
        _("plan size per node (bytes)"),
        null=True,
        blank=True,
        help_text=_("Stands in for maxmemory where the server names no limit."),
    )
    plan_maxclients = models.PositiveIntegerField(
        _("connection limit per node"),
        null=True,
        blank=True,
        help_text=_("Stands in for maxclients where the server does not report it."),
    )
    # What the service publishes for such a node: stands in where neither the server nor a person names a limit.
    service_memory_bytes = models.PositiveBigIntegerField(null=True, editable=False)
    service_maxclients = models.PositiveIntegerField(null=True, editable=False)
    engine = models.CharField(max_length=16, choices=Engine.choices, default=Engine.UNKNOWN, blank=True)
    topology = models.CharField(max_length=16, choices=Topology.choices, default=Topology.UNKNOWN, blank=True)
    is_demo = models.BooleanField(default=False)
    is_paused = models.BooleanField(_("paused"), default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Optimistic lock for edits: two people must not overwrite each other.
    revision = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        ordering = ("name",)
        verbose_name = _("cache")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("cache", args=[self.name])

    @property
    def abilities(self) -> Abilities:
        """Return what its servers have, so that nobody looks for more."""
        return abilities_of(self.engine)

    @property
    def other_memory_limit(self) -> int | None:
        """Return the bytes that stand in where a server names no maxmemory: a person's word before the service's."""
        return self.plan_memory_bytes or self.service_memory_bytes

    @property
    def other_maxclients(self) -> int | None:
        """Return the connections that stand in where a server does not report maxclients."""
        return self.plan_maxclients or self.service_maxclients

    def seeds(self) -> list[Address]:
        """Return the servers named in the address. Raise AddressError where it cannot be read."""
        return parse_addresses(self.address)[0]


class Shard(models.Model):
    """One primary with its replicas. `identity` is the cluster's shard id or the address of a listed server."""

    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, related_name="shards")
    identity = models.CharField(max_length=300)
    # Numbered from 1 in the order of first slots; kept for the shard's life, so that names stay.
    number = models.PositiveIntegerField()
    # Pairs of first and last slot, both included; empty outside clusters.
    slots = models.JSONField(default=list)
    left_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("cache", "identity"), name="shard_identity"),)

    def __str__(self) -> str:
        return f"shard {self.number}"

    def slot_count(self) -> int:
        return sum(last - first + 1 for first, last in self.slots)


class NodeQuerySet(models.QuerySet["Node"]):
    def present(self) -> Self:
        return self.filter(left_at=None)


class Node(models.Model):
    """One server process. In a cluster it is the node id that stays; ports and addresses are recycled."""

    class Role(models.TextChoices):
        UNKNOWN = "", _("unknown")
        PRIMARY = "primary", _("primary")
        REPLICA = "replica", _("replica")

    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, related_name="nodes")
    shard = models.ForeignKey(Shard, on_delete=models.SET_NULL, null=True, blank=True, related_name="nodes")
    identity = models.CharField(max_length=300)
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField()
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.UNKNOWN, blank=True)
    joined_at = models.DateTimeField(default=timezone.now, editable=False)
    left_at = models.DateTimeField(null=True, blank=True)

    objects = NodeQuerySet.as_manager()

    class Meta:
        ordering = ("shard__number", "role", "host", "port")
        constraints = (models.UniqueConstraint(fields=("cache", "identity"), name="node_identity"),)

    def __str__(self) -> str:
        return self.address

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
