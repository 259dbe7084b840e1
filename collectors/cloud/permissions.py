"""Testing what a project lets us do, API by API, and the commands that grant what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import Request

from collectors.cloud import auth_strings
from collectors.cloud.apis import AUTH, AUTHORITIES, LISTS, METRICS, Api
from collectors.cloud.authorities import METHODS
from collectors.cloud.clients import Clients, clients_of
from collectors.cloud.errors import CloudCause, CloudError, told
from collectors.cloud.identities import EMAIL, endpoint_of, machine_credentials
from collectors.cloud.listing import Listing, list_all
from collectors.cloud.models import CloudProject, Credentials
from collectors.cloud.products import Product
from collectors.cloud.snapshots import facts

# Any metric will do: the permission is the same for all.
PROBE = 'metric.type = "redis.googleapis.com/stats/memory/usage" AND resource.type = "redis_instance"'
ACCOUNT = "ACCOUNT_EMAIL"


@dataclass(frozen=True, slots=True)
class Check:
    """How one API answered."""

    api: Api
    error: CloudError | None
    seconds: float
    # Of a listing: how much it found, and the regions that could not be asked.
    found: int | None = None
    unreachable: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def sentence(self) -> str:
        if self.error:
            return self.error.sentence()
        if self.found is None:
            return _("It answers.")
        words = ngettext("It answers: %(count)d instance.", "It answers: %(count)d instances.", self.found)
        told_words = words % {"count": self.found}
        if not self.unreachable:
            return told_words
        return _("%(words)s Unreachable at the moment: %(regions)s") % {
            "words": told_words,
            "regions": ", ".join(self.unreachable),
        }


def test(project: CloudProject) -> list[Check]:
    """Ask every API that the project wants; nothing is stored. A project need not be stored either."""
    clients = clients_of(project)
    products = [product for product in Product if project.wants(product)]
    with ThreadPoolExecutor(len(products) + 1, thread_name_prefix="test") as pool:
        metrics = pool.submit(_timed, METRICS, partial(read_metrics, clients, project.metrics_project))
        listings = list(pool.map(lambda product: list_all(clients, project.project_id, product), products))
        checks = [_of_listing(one) for one in listings] + [metrics.result()]
    return checks + [check for one in listings for check in _further(clients, one)]


def _of_listing(listing: Listing) -> Check:
    api, regions = LISTS[listing.product], tuple(sorted(listing.unreachable))
    return Check(api, listing.error, listing.seconds, len(listing.seen), regions)


def _further(clients: Clients, listing: Listing) -> Iterator[Check]:
    """Try what some of the instances found need, on the first one of them."""
    found = [(one.name, facts(listing.product, one.snapshot())) for one in listing.seen]
    locked = [name for name, fact in found if fact.auth == "password"]
    if locked:
        yield _timed(AUTH, partial(auth_strings.fetch, clients, locked[0]))
    with_tls = [name for name, fact in found if fact.tls and fact.ca_mode in {"", "instance"}]
    if with_tls and listing.product in AUTHORITIES:
        yield _timed(AUTHORITIES[listing.product], partial(_authority, clients, listing.product, with_tls[0]))


def _authority(clients: Clients, product: Product, name: str) -> None:
    attribute, method = METHODS[product]
    client, request = getattr(clients, attribute), {"name": f"{name}/certificateAuthority"}
    with told():
        getattr(client, method)(request=request, timeout=settings.CLOUD_CALL_TIMEOUT_SECONDS, retry=None)


def read_metrics(clients: Clients, project_id: str) -> None:
    """Ask for one series of the last minutes. Raise CloudError."""
    client, now = clients.metrics, int(time.time())
    request = {
        "name": f"projects/{project_id}",
        "filter": PROBE,
        "interval": {"start_time": {"seconds": now - 600}, "end_time": {"seconds": now}},
        "view": "HEADERS",
        "page_size": 1,
    }
    with told():
        client.list_time_series(request=request, timeout=settings.CLOUD_CALL_TIMEOUT_SECONDS, retry=None)


def _timed(api: Api, call: Callable[[], Any]) -> Check:
    start = time.monotonic()
    try:
        call()
    except CloudError as error:
        return Check(api, error, time.monotonic() - start)
    return Check(api, None, time.monotonic() - start)


def who_asks(project: CloudProject) -> str:
    """Return the e-mail of the account that asks; "" where nobody can tell."""
    if project.credentials == Credentials.KEY or endpoint_of(project):
        return project.principal
    credentials: Any
    try:
        credentials = machine_credentials()
        if not EMAIL.fullmatch(getattr(credentials, "service_account_email", "")):
            # On Google Cloud the metadata server tells, once it was asked for a token.
            credentials.refresh(partial(Request(), timeout=settings.CLOUD_TOKEN_TIMEOUT_SECONDS))
    except GoogleAuthError:
        return ""
    email = str(getattr(credentials, "service_account_email", ""))
    return email if EMAIL.fullmatch(email) else ""


def commands(project: CloudProject, email: str, apis: Iterable[Api], disabled: Iterable[Api] = ()) -> list[str]:
    """Return the gcloud commands that enable these services and grant exactly these permissions, each once."""
    found = [
        f"gcloud services enable {service} --project={_place(project, METRICS.service == service)}"
        for service in dict.fromkeys(api.service for api in disabled)
    ]
    roles = {api.role: api for api in apis}
    for role, api in roles.items():
        place = _place(project, api is METRICS)
        if api.is_own_role:
            found.append(
                f"gcloud iam roles create {role} --project={place} --permissions={api.permission}"
                ' --title="Shardwatch: AUTH strings"'
            )
            role = f"projects/{place}/roles/{role}"
        found.append(
            f"gcloud projects add-iam-policy-binding {place}"
            f" --member=serviceAccount:{email or ACCOUNT} --role={role} --condition=None"
        )
    return found


def _place(project: CloudProject, is_metrics: bool) -> str:
    return project.metrics_project if is_metrics else project.project_id


def missing(project: CloudProject, email: str, checks: Iterable[Check]) -> list[str]:
    """Return the commands for what a test found missing."""
    failed = [check for check in checks if check.error]
    disabled = [one.api for one in failed if one.error and one.error.cause is CloudCause.API_DISABLED]
    denied = [one.api for one in failed if one.error and one.error.cause is CloudCause.PERMISSION]
    # A service that is not enabled does not say whether the permission is there.
    return commands(project, email, [*denied, *(api for api in disabled if api not in denied)], disabled)


def needed(project: CloudProject) -> list[str]:
    """Return the commands for all that the project needs to begin with."""
    apis = [LISTS[product] for product in Product if project.wants(product)] + [METRICS]
    return commands(project, project.principal, apis, apis)
