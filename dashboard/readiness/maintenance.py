"""Whether a cache stands maintenance: memory for copies, idle CPU for a failover, a window, replicas."""

from __future__ import annotations

from django.utils.translation import gettext as _

from collectors.cloud.products import Product
from dashboard.readiness.inputs import Inputs
from dashboard.readiness.verdict import Mark, Verdict, at_most, none, unknown

SYSTEM_MEMORY = 0.5
REDIS_PRIMARY, REPLICA = 0.9, 0.5
# A cluster with one replica a shard loses half of its serving nodes with a zone, one with more a smaller part.
ONE_REPLICA_PRIMARY, MORE_REPLICAS_PRIMARY = 0.5, 0.9


def system_memory(inputs: Inputs) -> Verdict:
    if inputs.product != Product.REDIS:
        return none(_("The rule is about Memorystore for Redis."))
    return at_most(
        inputs.system_memory,
        SYSTEM_MEMORY,
        _("There is room for copies and for replication."),
        _("Lower maxmemory-gb to half of the capacity, delete keys or scale up before maintenance."),
        _("Neither Cloud Monitoring nor INFO told the memory of the system lately."),
    )


def cpu_primary(inputs: Inputs) -> Verdict:
    if refused := cpu_without_rule(inputs):
        return refused
    return at_most(
        inputs.cpu_primary,
        primary_limit(inputs),
        _("What is left carries a failover."),
        _("Scale out, or run maintenance and scaling at a quieter time: a failover would add to this."),
        _("Neither Cloud Monitoring nor INFO told the CPU of the primaries lately."),
    )


def cpu_replica(inputs: Inputs) -> Verdict:
    if refused := cpu_without_rule(inputs):
        return refused
    if inputs.replicas_per_shard == 0:
        return none(_("There are no replicas."))
    return at_most(
        inputs.cpu_replica,
        REPLICA,
        _("A replica can take over as primary."),
        _("Send fewer reads to replicas: one that becomes primary has its writes beside them."),
        _("Neither Cloud Monitoring nor INFO told the CPU of the replicas lately."),
    )


def cpu_without_rule(inputs: Inputs) -> Verdict | None:
    """Return why no limit of CPU is published for such a cache, None where there is one."""
    if inputs.product == Product.REDIS:
        return None
    if not inputs.has_rules_of_clusters:
        return none(_("No limit is published for such a cache."))
    if inputs.replicas_per_shard is None:
        return unknown(_("The limit depends on the number of replicas, which is not known."))
    return none(_("No limit is published for clusters without replicas.")) if not inputs.replicas_per_shard else None


def primary_limit(inputs: Inputs) -> float:
    if inputs.product == Product.REDIS:
        return REDIS_PRIMARY
    return ONE_REPLICA_PRIMARY if inputs.replicas_per_shard == 1 else MORE_REPLICAS_PRIMARY


def window(inputs: Inputs) -> Verdict:
    if not inputs.is_of_service:
        return none(_("The cache was not found in a Google Cloud project."))
    if inputs.has_window is None:
        return unknown(_("Google's API did not tell."))
    if inputs.has_window:
        return Verdict(Mark.READY, _("set"), _("set"), _("Maintenance comes in its window, with a week's notice."))
    sentence = _("Set a maintenance window: without one Google chooses the time, and gives no notice.")
    return Verdict(Mark.NOT_READY, _("not set"), _("set"), sentence)


def replicas(inputs: Inputs) -> Verdict:
    if inputs.product == Product.MEMCACHED:
        return none(_("Memcached has no replicas."))
    limit = _("at least 1")
    if inputs.replicas_per_shard is None:
        return unknown(_("The number of replicas is not known."), limit)
    if inputs.replicas_per_shard:
        return Verdict(
            Mark.READY, str(inputs.replicas_per_shard), limit, _("A replica takes over when a node is lost.")
        )
    sentence = _("A lost node takes its keys with it and is away for minutes; Google's SLA may not cover it.")
    return Verdict(Mark.CARE, "0", limit, sentence)
