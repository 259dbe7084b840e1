"""What people decide about found instances, and making the caches of those that are approved."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError

from collectors.cloud import adoption
from collectors.cloud.auth_strings import AuthStrings
from collectors.cloud.clients import clients_of
from collectors.cloud.models import CloudInstance, Decision
from collectors.cloud.products import Product
from fleet.models import Reach

if TYPE_CHECKING:
    from fleet.models import Cache

logger = logging.getLogger(__name__)


def approve(instance: CloudInstance, now: datetime, reach: str = "") -> Cache | None:
    """Make a cache of an instance, now or as soon as the service names its address; return it.

    `reach` says whether its nodes can be reached, where that is other than the project says. Asks Google where a
    password is needed. Raise ValidationError where the service says something that no cache can have.
    """
    # What it had when somebody removed its cache counts no more. Decided here is decided for all that see it.
    CloudInstance.objects.same_as(instance).filter(cache=None).update(decision=Decision.APPROVED, applied={})
    strings = AuthStrings(instance.project, clients_of(instance.project), now)
    return make_cache(instance, strings, now, reach)


def ignore(instance: CloudInstance) -> bool:
    """Stop asking about an instance in all projects that see it; return False where it is a cache already."""
    rows = CloudInstance.objects.same_as(instance)
    if rows.filter(cache__isnull=False).exists():
        return False
    return bool(rows.filter(cache=None).update(decision=Decision.IGNORED))


def make_cache(instance: CloudInstance, strings: AuthStrings, now: datetime, reach: str = "") -> Cache | None:
    """Give an approved instance its cache, with the AUTH string where it has one. Raise ValidationError."""
    if other := adoption.same_elsewhere(instance):
        if other.gone_at:
            adoption.take_over(instance, other, now)
        return instance.cache
    needs = instance.product == Product.REDIS and instance.snapshot.get("auth_enabled") and reach != Reach.SERVICE
    return adoption.adopt(instance, now, strings.of(instance.name) if needs else "", reach)


def try_to_make_cache(instance: CloudInstance, strings: AuthStrings, now: datetime) -> None:
    try:
        make_cache(instance, strings, now)
    except ValidationError as error:
        logger.warning("%s cannot become a cache: %s", instance.name, "; ".join(error.messages))
