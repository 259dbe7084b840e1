"""Tokens of Google IAM as passwords, against a token endpoint and a real server that takes only the right one."""

import json
from collections.abc import Callable, Iterator

import pytest
import redis
from google.oauth2 import service_account

from collectors.cloud import tokens
from collectors.cloud.identities import SCOPES
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.tokens import TokenSource
from collectors.failures import Cause, ReadError
from collectors.tests.conftest import Poller, status_of
from collectors.tests.token_server import TokenServer
from fleet.models import Cache, Login
from fleet.secrets import Secret
from launcher.valkey import Valkey
from launcher.waiting import until

StartValkey = Callable[..., Valkey]
CacheAt = Callable[..., Cache]


@pytest.fixture
def google() -> Iterator[TokenServer]:
    made = TokenServer("token-1", "token-2", "token-3")
    yield made
    made.stop()


@pytest.fixture
def source(google: TokenServer) -> TokenSource:
    """Tokens that are renewed whenever they should be, without a pause between two attempts."""
    return source_from(google, again_seconds=0)


def source_from(google: TokenServer, again_seconds: float) -> TokenSource:
    key = json.loads(google.key())
    return TokenSource(service_account.Credentials.from_service_account_info(key, scopes=SCOPES), again_seconds)


def sign_in_by_iam(cache: Cache, google: TokenServer) -> CloudProject:
    """Make a cache one of a project whose key leads to this token endpoint."""
    project = CloudProject(project_id="shop-prod", credentials="key")
    project.key = Secret.of(google.key())
    project.save()
    name = "projects/shop-prod/locations/europe-west1/clusters/users"
    CloudInstance.objects.create(project=project, cache=cache, product="redis-cluster", name=name, uid="1")
    Cache.objects.filter(pk=cache.pk).update(login=Login.GOOGLE_IAM)
    return project


def drop_links(poller: Poller) -> None:
    """Lose every connection, as after a failover."""
    targets = poller.pool.targets_of(list(Cache.objects.values_list("pk", flat=True)))
    for target in targets:
        target.drop_soon()
    assert until(lambda: not any(target.link for target in targets), 5)


def test_a_token_is_kept_while_it_lives(source: TokenSource, google: TokenServer) -> None:
    assert [source.text(), source.text()] == ["token-1", "token-1"]
    assert len(google.grants) == 1


def test_a_token_is_renewed_before_it_ends(source: TokenSource, google: TokenServer) -> None:
    google.lives = 200

    assert [source.text(), source.text()] == ["token-1", "token-2"]


def test_the_old_token_serves_while_google_is_away(source: TokenSource, google: TokenServer) -> None:
    google.lives = 200
    source.text()
    google.refusal = "backend error"

    assert source.text() == "token-1"


def test_an_ended_token_is_not_used(source: TokenSource, google: TokenServer) -> None:
    google.lives = 0
    source.text()
    google.refusal = "Invalid JWT Signature."

    with pytest.raises(ReadError) as caught:
        source.text()
    assert caught.value.cause is Cause.TOKEN_MISSING
    assert "Invalid JWT Signature" in caught.value.sentence()


def test_a_token_endpoint_that_nobody_reaches_is_told_with_what_to_check(google: TokenServer) -> None:
    source = source_from(google, again_seconds=0)
    google.stop()

    with pytest.raises(ReadError) as caught:
        source.text()
    assert caught.value.cause is Cause.TOKEN_AWAY
    assert "Connection" not in caught.value.sentence()
    assert "port 443" in caught.value.sentence()


def test_a_refused_token_is_renewed(source: TokenSource) -> None:
    source.refuse(source.text())

    assert source.text() == "token-2"


def test_an_older_token_that_is_refused_changes_nothing(source: TokenSource) -> None:
    source.text()
    source.refuse("token-0")

    assert source.text() == "token-1"


def test_a_hundred_refusals_ask_google_once(google: TokenServer) -> None:
    source = source_from(google, again_seconds=3600)
    for _ in range(100):
        source.refuse(source.text())

    assert len(google.grants) == 1


def test_it_signs_in_with_a_token(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, google: TokenServer
) -> None:
    cache = cache_at(valkey_server("--requirepass", "token-1").url)
    sign_in_by_iam(cache, google)

    poller.poll(cache)

    assert status_of(cache).answered_at


def test_connections_outlive_their_token(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, google: TokenServer
) -> None:
    cache = cache_at(valkey_server("--requirepass", "token-1").url)
    sign_in_by_iam(cache, google)
    google.lives = 0

    for _ in range(3):
        poller.poll(cache)

    assert len(google.grants) == 1


def test_a_new_connection_gets_a_fresh_token(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, google: TokenServer
) -> None:
    server = valkey_server("--requirepass", "token-1")
    cache = cache_at(server.url)
    sign_in_by_iam(cache, google)
    google.lives = 0
    poller.poll(cache)
    with redis.Redis(port=server.port, password="token-1") as client:
        client.config_set("requirepass", "token-2")

    drop_links(poller)
    poller.poll(cache)

    assert not status_of(cache).failed_cause


def test_it_says_that_a_token_is_refused(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, google: TokenServer
) -> None:
    cache = cache_at(valkey_server("--requirepass", "another").url)
    sign_in_by_iam(cache, google)

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.TOKEN_REFUSED
    assert "roles/redis.dbConnectionUser" in status_of(cache).failed_reason


def test_it_says_that_google_gives_none(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, google: TokenServer
) -> None:
    cache = cache_at(valkey_server().url)
    sign_in_by_iam(cache, google)
    google.refusal = "account not found"

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.TOKEN_MISSING
    assert "account not found" in status_of(cache).failed_reason


def test_new_credentials_of_the_project_give_new_tokens(cache_at: CacheAt, google: TokenServer) -> None:
    cache = cache_at("redis://127.0.0.1:1")
    project = sign_in_by_iam(cache, google)
    before = tokens.source_of(cache)
    CloudProject.objects.filter(pk=project.pk).update(revision=project.revision + 1)

    assert tokens.source_of(cache) is not before


def test_caches_of_one_project_share_their_tokens(cache_at: CacheAt, google: TokenServer) -> None:
    cache = cache_at("redis://127.0.0.1:1")
    sign_in_by_iam(cache, google)

    assert tokens.source_of(cache) is tokens.source_of(cache)
