"""What services told of caches, read from our tables once for each change."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from collectors.cloud.known import services
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.tests.cast import cache_with_nodes
from fleet.models import Cache

pytestmark = pytest.mark.django_db


def instance(cache: Cache | None, **given: Any) -> CloudInstance:
    project, _ = CloudProject.objects.get_or_create(project_id="shop-prod")
    snapshot = {"state": "ACTIVE", "shard_count": 3}
    name = cache.name if cache else "loose"
    fields = {"product": "valkey", "name": name, "uid": name, "region": "r", "short_id": name, "snapshot": snapshot}
    return CloudInstance.objects.create(project=project, cache=cache, **(fields | given))


def test_it_tells_the_instance_and_what_it_says() -> None:
    cache = cache_with_nodes()
    made = instance(cache)

    found = services([cache.pk])[cache.pk]

    assert (found.instance.pk, found.instance.project.project_id, found.facts.shards) == (made.pk, "shop-prod", 3)


def test_a_cache_outside_and_an_instance_without_a_cache_are_missing() -> None:
    cache = cache_with_nodes()
    instance(None)

    assert services([cache.pk]) == {}
    assert services([]) == {}


def test_what_is_gone_is_told_all_the_same() -> None:
    cache = cache_with_nodes()
    instance(cache, gone_at=timezone.now())

    assert services([cache.pk])[cache.pk].instance.gone_at is not None


def test_a_snapshot_is_read_once_until_it_changes(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    caches = [cache_with_nodes(name=f"game-{number}") for number in range(3)]
    ids, made = [cache.pk for cache in caches], [instance(cache) for cache in caches]

    with django_assert_num_queries(2):
        services(ids)
    with django_assert_num_queries(1):
        services(ids)
    later = made[0].changed_at + timedelta(seconds=1)
    CloudInstance.objects.filter(pk=made[0].pk).update(snapshot={"shard_count": 5}, changed_at=later)
    with django_assert_num_queries(2):
        found = services(ids)

    assert [found[pk].facts.shards for pk in ids] == [5, 3, 3]
