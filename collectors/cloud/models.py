"""Google Cloud projects that we look into, and the Memorystore instances that were found in them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from collectors.cloud.products import Product
from fleet.models import Cache, Reach
from fleet.secrets import SecretField

PROJECT_ID_RULE = RegexValidator(
    # Older projects of companies carry a domain in front: example.com:shop.
    r"\A(?:[a-z0-9.-]{3,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\Z",
    _(
        "A project id has 6 to 30 small letters, digits and hyphens, begins with a letter and does not end with a"
        " hyphen. Give the id, not the project's name or number."
    ),
)


def all_products() -> list[str]:
    return [str(product) for product in Product]


class Credentials(models.TextChoices):
    ADC = "adc", _("application default")
    WORKLOAD_IDENTITY = "workload-identity", _("workload identity")
    KEY = "key", _("key of a service account")


class Approve(models.TextChoices):
    ASK = "ask", _("ask for each")
    RULE = "rule", _("add those that fit the rule, ask for the others")
    ALL = "all", _("add all")


class CloudProject(models.Model):
    """One Google Cloud project whose instances are looked for every `interval_seconds`."""

    project_id = models.CharField(_("project id"), max_length=100, unique=True, validators=[PROJECT_ID_RULE])
    # A scoping project whose metrics scope holds this one; blank: the project itself.
    metrics_project_id = models.CharField(
        _("metrics from project"), max_length=100, blank=True, validators=[PROJECT_ID_RULE]
    )
    credentials = models.CharField(
        _("credentials"), max_length=20, choices=Credentials.choices, default=Credentials.ADC
    )
    key = SecretField(_("service account key (JSON)"), blank=True, default="")
    # Who we are to Google, where a key or the machine told it: for the commands that grant roles.
    principal = models.CharField(max_length=200, blank=True)
    products = models.JSONField(_("products"), default=all_products)
    interval_seconds = models.PositiveIntegerField(
        _("look every (seconds)"), default=60, validators=[MinValueValidator(30), MaxValueValidator(3_600)]
    )
    approve = models.CharField(_("what is found"), max_length=4, choices=Approve.choices, default=Approve.ASK)
    # What the rule wants: all of these labels, and one of these names (patterns separated by blanks).
    approve_labels = models.JSONField(_("with the labels"), default=dict, blank=True)
    approve_names = models.CharField(_("with a name like"), max_length=500, blank=True)
    # What new caches begin with.
    reach = models.CharField(_("nodes can be reached"), max_length=8, choices=Reach.choices, default=Reach.NODES)
    is_paused = models.BooleanField(_("paused"), default=False)
    # host:port of an emulator that speaks without TLS; blank: SHARDWATCH_GOOGLE_ENDPOINT, else Google.
    endpoint = models.CharField(max_length=200, blank=True)
    is_demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Optimistic lock for edits, and what kept clients are known by.
    revision = models.PositiveIntegerField(default=1, editable=False)
    # When the last discovery ended, whatever it found.
    discovered_at = models.DateTimeField(null=True)
    # Until then one worker looks; nobody else may.
    lease_until = models.DateTimeField(default=timezone.now)
    # By product: at, ok, cause, words, unreachable (collectors/cloud/discovery.py).
    state = models.JSONField(default=dict)

    class Meta:
        ordering = ("project_id",)
        verbose_name = _("project")

    def __str__(self) -> str:
        return self.project_id

    def get_absolute_url(self) -> str:
        return reverse("project", args=[self.project_id])

    @property
    def metrics_project(self) -> str:
        """Return the project that is asked for metrics."""
        return self.metrics_project_id or self.project_id

    def wants(self, product: str) -> bool:
        return product in self.products


class InstanceState(models.TextChoices):
    """What the states of four products have in common."""

    UP = "up", _("up")
    CHANGING = "changing", _("being changed")
    REPAIR = "repair", _("being repaired")
    MAINTENANCE = "maintenance", _("in maintenance")
    GONE = "gone", _("being deleted")
    UNKNOWN = "unknown", _("unknown")


class Decision(models.TextChoices):
    WAITING = "waiting", _("waits for approval")
    APPROVED = "approved", _("approved")
    IGNORED = "ignored", _("ignored")


def awaited(of: str = "", project: str = "project__") -> Q:
    """Return what holds of instances that somebody should decide on; not of products that were unticked since.

    `of` and `project` lead to the instance and to its project.
    """
    asked = (Q(**{f"{of}product": product, f"{project}products__contains": [product]}) for product in Product.values)
    return reduce(or_, asked) & Q(**{f"{of}gone_at": None, f"{of}decision": Decision.WAITING})


class CloudInstanceQuerySet(models.QuerySet["CloudInstance"]):
    def present(self) -> Self:
        return self.filter(gone_at=None)

    def waiting(self) -> Self:
        return self.filter(awaited())

    def same_as(self, instance: CloudInstance) -> Self:
        """Return the rows of an instance in all projects that see it, its own among them."""
        return self.filter(product=instance.product, name=instance.name, uid=instance.uid)


class CloudInstance(models.Model):
    """One instance or cluster of the service, from its creation to its deletion.

    Recreated under the same name it is another one: that takes the cache over, this one stays as history.
    """

    project = models.ForeignKey(CloudProject, on_delete=models.CASCADE, related_name="instances")
    product = models.CharField(max_length=16, choices=Product.choices)
    # projects/P/locations/R/instances/I; clusters/C for Redis Cluster.
    name = models.CharField(max_length=300)
    # Where a product has no uid, the time of its creation stands in.
    uid = models.CharField(max_length=100)
    region = models.CharField(max_length=64)
    short_id = models.CharField(max_length=100)
    # What the service told last, with the names of enums; collectors/cloud/snapshots.py reads it.
    snapshot = models.JSONField(default=dict)
    # A digest of the message that the snapshot was made of: what did not change is not read again.
    fingerprint = models.CharField(max_length=32, blank=True)
    state = models.CharField(max_length=12, choices=InstanceState.choices, default=InstanceState.UNKNOWN)
    # Google's own word.
    state_name = models.CharField(max_length=40, blank=True)
    cache = models.OneToOneField(Cache, on_delete=models.SET_NULL, null=True, related_name="cloud")
    decision = models.CharField(max_length=8, choices=Decision.choices, default=Decision.WAITING)
    # Fields of the cache as we set them last: where the cache says otherwise, a person changed it.
    applied = models.JSONField(default=dict)
    first_seen_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)
    gone_at = models.DateTimeField(null=True)
    # When the snapshot changed last.
    changed_at = models.DateTimeField(default=timezone.now)

    objects = CloudInstanceQuerySet.as_manager()

    class Meta:
        ordering = ("product", "region", "short_id")
        constraints = (
            models.UniqueConstraint(fields=("project", "product", "name", "uid"), name="one_row_a_cloud_instance"),
        )
        # The same instance seen by another project, and the one that had its name before.
        indexes = (models.Index(fields=("product", "name"), name="instance_by_name"),)

    def __str__(self) -> str:
        return self.name

    @property
    def location(self) -> str:
        """Return where in its project it is, as a person would write it."""
        return f"{self.region}/{self.short_id}"

    @property
    def is_asked_for(self) -> bool:
        """Return whether its project still asks for its product; what is not asked for is not seen any more."""
        return self.project.wants(self.product)
