"""Asking the service of one product for all that it has in a project, in all regions at once."""

import logging
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from typing import Any

from django.conf import settings

from collectors.cloud.clients import Clients, brief_retry
from collectors.cloud.errors import CloudCause, CloudError, told
from collectors.cloud.products import Product

logger = logging.getLogger(__name__)
PAGE_SIZE = 500
NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/(?:instances|clusters)/([^/]+)")
# The method, and the field of its answer that holds the list.
METHODS = {
    Product.REDIS: ("redis", "list_instances", "instances"),
    Product.REDIS_CLUSTER: ("redis_cluster", "list_clusters", "clusters"),
    Product.VALKEY: ("valkey", "list_instances", "instances"),
    Product.MEMCACHED: ("memcached", "list_instances", "instances"),
}
# The id of the entry that stands for a region that could not be asked.
PLACEHOLDER = "-"


@dataclass(frozen=True, slots=True)
class Seen:
    """One instance of a listing, as its raw message."""

    name: str
    uid: str
    region: str
    short_id: str
    fingerprint: str
    raw: Any

    def snapshot(self) -> dict[str, Any]:
        """Return the message as JSON with the names of enums; fields that are not set are left out."""
        to_dict = import_module("google.protobuf.json_format").MessageToDict
        return dict(to_dict(self.raw, preserving_proto_field_name=True))


@dataclass(slots=True)
class Listing:
    """What one product has in a project, or why that is not known."""

    product: Product
    seen: list[Seen] = field(default_factory=list)
    # Regions that could not be asked: what they hold is not told.
    unreachable: set[str] = field(default_factory=set)
    error: CloudError | None = None
    seconds: float = 0.0


def list_all(clients: Clients, project_id: str, product: Product) -> Listing:
    """Return all instances of a product; an error leaves what the first pages told."""
    listing, start = Listing(product), time.monotonic()
    try:
        for page in pages(clients, project_id, product, start + settings.CLOUD_LISTING_SECONDS):
            _take_in(listing, page)
    except CloudError as error:
        listing.error = error
    listing.seconds = time.monotonic() - start
    return listing


def pages(clients: Clients, project_id: str, product: Product, until: float) -> Iterable[Any]:
    """Yield the raw answers of a listing, page by page, until a time of the monotonic clock. Raise CloudError."""
    attribute, method, _ = METHODS[product]
    request = {"parent": f"projects/{project_id}/locations/-", "page_size": PAGE_SIZE}
    call = getattr(getattr(clients, attribute), method)
    with told():
        for page in call(request=request, timeout=settings.CLOUD_CALL_TIMEOUT_SECONDS, retry=brief_retry()).pages:
            if time.monotonic() > until:
                raise CloudError(CloudCause.SLOW)
            yield type(page).pb(page)


def _take_in(listing: Listing, page: Any) -> None:
    listing.unreachable.update(place.rpartition("/")[2] for place in page.unreachable)
    for raw in getattr(page, METHODS[listing.product][2]):
        seen = seen_of(raw)
        if seen is None:
            logger.warning("%s listed a name that cannot be read: %.200r", listing.product, raw.name)
        elif seen.short_id == PLACEHOLDER:
            listing.unreachable.add(seen.region)
        else:
            listing.seen.append(seen)


def seen_of(raw: Any) -> Seen | None:
    """Return what identifies a message; None where its name has another shape than all names have."""
    match = NAME.fullmatch(raw.name)
    if not match or len(raw.name) > 300:
        return None
    created = raw.create_time.ToJsonString() if raw.HasField("create_time") else ""
    digest = blake2b(raw.SerializeToString(deterministic=True), digest_size=16).hexdigest()
    return Seen(raw.name, (getattr(raw, "uid", "") or created)[:100], match[1], match[2], digest, raw)
