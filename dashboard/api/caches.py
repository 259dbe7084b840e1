"""Registered caches: list, add, change, remove, test."""

import re
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status
from ninja.errors import HttpError
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from collectors.memcached.plugin import plugin_of
from dashboard import cache_changes
from dashboard.api.answers import problems
from dashboard.api.paging import PageQuery
from dashboard.api.schemas import (
    NAME_PATTERN,
    NO_NUL,
    CacheAnswer,
    CacheChange,
    CachePage,
    NewCache,
    RegisteredCache,
    Trial,
    TrialAnswer,
)
from fleet.labels import parse_labels
from fleet.models import Cache

router = Router(tags=["caches"], auth=callers())
operators = callers(Role.OPERATOR)
NAME = re.compile(NAME_PATTERN)
LABEL_PATTERN = r"^[a-z0-9_.-]{1,63}=.{1,200}$"


class CacheFilter(PageQuery):
    text: str = Field("", max_length=200, pattern=NO_NUL, description="Part of the name or of the address.")
    label: list[Annotated[str, Field(pattern=LABEL_PATTERN)]] = Field(
        [], max_length=20, description="key=value; given several times, all must fit."
    )

    def apply(self) -> QuerySet[Cache]:
        caches = Cache.objects.select_related("mysql_plugin")
        if self.text:
            caches = caches.filter(Q(name__icontains=self.text) | Q(address__icontains=self.text))
        return caches.filter(labels__contains=parse_labels(self.label)) if self.label else caches


@router.get("", response={200: CachePage, **problems()}, operation_id="list_caches", summary="List caches")
def list_caches(request: HttpRequest, filters: Query[CacheFilter]) -> dict[str, Any]:
    found = filters.apply()
    answers = [cache_answer(request, cache) for cache in found[filters.cut]]
    return {**filters.told(found.count()), "caches": answers}


@router.post(
    "",
    auth=operators,
    response={201: RegisteredCache, **problems(409, 413, 415)},
    operation_id="add_cache",
    summary="Register a cache",
)
def add_cache(request: HttpRequest, body: NewCache) -> Status[dict[str, Any]]:
    """The cache is kept whether or not it answers now; `discovery` says what was found."""
    cache, discovery = cache_changes.add(signed_in(request), body.given())
    return Status(201, {**cache_answer(request, cache), "discovery": discovery})


@router.post(
    "/test",
    auth=operators,
    response={200: TrialAnswer, **problems(404, 413, 415)},
    operation_id="test_connection",
    summary="Test a connection step by step",
)
def test_connection(request: HttpRequest, body: Trial) -> dict[str, Any]:
    """Nothing is stored. A server that cannot be reached is a 200 whose steps say which one failed."""
    if not (body.cache or body.address):
        raise HttpError(400, "Give an address, or the name of a registered cache.")
    cache = cache_named(body.cache) if body.cache else Cache(name="trial")
    steps = cache_changes.try_connection(cache, body.given())
    return {"ok": all(step.ok for step in steps), "steps": steps}


@router.get("/{name}", response={200: CacheAnswer, **problems(404)}, operation_id="get_cache", summary="Show one cache")
def get_cache(request: HttpRequest, name: str) -> dict[str, Any]:
    return cache_answer(request, cache_named(name))


@router.patch(
    "/{name}",
    auth=operators,
    response={200: CacheAnswer, **problems(404, 409, 413, 415)},
    operation_id="change_cache",
    summary="Change a cache",
)
def change_cache(request: HttpRequest, name: str, body: CacheChange) -> dict[str, Any]:
    """Fields that are left out stay as they are. An empty text removes a secret or a certificate."""
    cache = cache_named(name)
    changed, _ = cache_changes.change(signed_in(request), cache, body.given(), body.revision or cache.revision)
    return cache_answer(request, changed)


@router.delete(
    "/{name}",
    auth=operators,
    response={204: None, **problems(404)},
    operation_id="delete_cache",
    summary="Remove a cache and its history",
)
def delete_cache(request: HttpRequest, name: str) -> Status[None]:
    cache_changes.delete(signed_in(request), cache_named(name))
    return Status(204, None)


def cache_named(name: str) -> Cache:
    """Return the cache, or raise Http404; a name that no cache can have is not looked for."""
    if not NAME.fullmatch(name):
        raise Http404
    return get_object_or_404(Cache, name=name)


def cache_answer(request: HttpRequest, cache: Cache) -> dict[str, Any]:
    """Return what may be shown of a cache: whether secrets are set, never what they are."""
    plain = (
        "name",
        "address",
        "username",
        "tls_check_hostname",
        "login",
        "reach",
        "labels",
        "poll_interval_seconds",
        "plan_memory_bytes",
        "plan_maxclients",
        "is_demo",
        "is_paused",
        "created_at",
        "revision",
    )
    return {
        **{field: getattr(cache, field) for field in plain},
        "url": request.build_absolute_uri(cache.get_absolute_url()),
        "has_password": bool(cache.password),
        "has_ca_bundle": bool(cache.ca_bundle),
        "has_client_certificate": bool(cache.client_certificate),
        **mysql_answer(cache),
        "engine": cache.engine or None,
        "topology": cache.topology or None,
    }


def mysql_answer(cache: Cache) -> dict[str, bool]:
    plugin = plugin_of(cache)
    return {
        "has_mysql_dsn": plugin is not None,
        "mysql_is_encrypted": plugin is not None and plugin.is_encrypted,
        "has_mysql_ca_bundle": plugin is not None and bool(plugin.ca_bundle),
        "mysql_check_hostname": plugin is None or plugin.check_hostname,
    }
