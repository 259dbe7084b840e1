"""What a found instance is called here, where its cache is reached, and what else the service says of that."""

from collections.abc import Collection, Iterator
from itertools import count
from typing import Any

from django.core.exceptions import ValidationError

from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.products import Product
from collectors.cloud.service_facts import Endpoint, ServiceFacts
from fleet.addresses import Address, Protocol
from fleet.certificates import certificates
from fleet.labels import KEY, LABEL_LIMIT, VALUE_LIMIT
from fleet.models import NAME_RULE, Login, Reach
from fleet.registration import RESERVED_NAMES

NAME_LIMIT = 63


def free_name(instance: CloudInstance, project: CloudProject, taken: Collection[str]) -> str:
    """Return the shortest name that tells the instance from those that are taken."""
    return next(name for name in _names(instance, project) if name not in taken and is_sound(name))


def _names(instance: CloudInstance, project: CloudProject) -> Iterator[str]:
    base = instance.short_id.lower()
    place = project.project_id.rpartition(":")[2]
    yield from (base, f"{base}.{instance.region}", f"{base}.{instance.region}.{place}", f"{base}.{place}")
    # Whatever Google allows one day, a cache gets a name.
    for number in count(2):
        yield f"{base[:40]}-{number}".lstrip("-.")
        yield f"{instance.product}-{number}"


def is_sound(name: str) -> bool:
    try:
        NAME_RULE(name)
    except ValidationError:
        return False
    return len(name) <= NAME_LIMIT and name not in RESERVED_NAMES


def entry_of(facts: ServiceFacts) -> Endpoint | None:
    """Return the endpoint that a cache is reached at: the one that stays through scaling and failover."""
    return facts.endpoint("discovery", "primary") if facts.is_cluster else facts.endpoint("primary", "discovery")


def address_of(facts: ServiceFacts) -> str:
    """Return the address of its cache; "" where the service names none (yet)."""
    end = entry_of(facts)
    if end is None:
        return ""
    protocol = Protocol.DISCOVERY if facts.product == Product.MEMCACHED else Protocol.REDIS
    return Address(end.host, end.port, bool(facts.tls), protocol).text


def fields_of(instance: CloudInstance, facts: ServiceFacts, has_password: bool) -> dict[str, Any]:
    """Return what the service says about the fields of a cache, apart from its password."""
    return {
        "address": address_of(facts),
        "reach": str(instance.project.reach if can_sign_in(facts, has_password) else Reach.SERVICE),
        "login": str(Login.GOOGLE_IAM if facts.auth == "iam" else Login.PASSWORD),
        "ca_bundle": "".join(f"{one.pem.strip()}\n" for one in facts.ca_certs if is_readable(one.pem)),
        # Instances are reached by IP addresses, which their certificates do not name.
        "tls_check_hostname": not facts.tls,
        "labels": labels_of(instance, facts),
    }


def can_sign_in(facts: ServiceFacts, has_password: bool) -> bool:
    """Return whether the nodes would let us in; polling them in vain would page people for nothing."""
    return facts.auth in {"none", "iam"} or has_password


def is_readable(pem: str) -> bool:
    try:
        return bool(certificates(pem))
    except ValidationError:
        return False


def labels_of(instance: CloudInstance, facts: ServiceFacts) -> dict[str, str]:
    """Return the labels of its cache: where it is, and those of the service that are labels here as well."""
    project_id = instance.project.project_id
    own = {"project": project_id, "region": instance.region, "product": instance.product}
    fit = {
        key: value
        for key, value in sorted(facts.labels.items())
        if KEY.fullmatch(key) and value and len(value) <= VALUE_LIMIT and value.isprintable()
    }
    room = LABEL_LIMIT - len(own)
    return {**own, **dict(list(fit.items())[:room])}
