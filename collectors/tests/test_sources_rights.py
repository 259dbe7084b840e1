"""What the default user may do, as servers say it."""

from __future__ import annotations

import pytest
import redis

from collectors.source import Reply, Standing
from collectors.sources.rights import MAY_CHANGE_USERS, DefaultUser
from conftest import ValkeyFactory
from fleet.engines import Engine


def told(*replies: Reply) -> list[dict[str, str]]:
    source = DefaultUser()
    return [source.parse([reply]).facts for reply in replies]


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        (b"OK", {"default_user": "all"}),
        (b"User default has no permissions to run the 'acl|setuser' command", {"default_user": "limited"}),
        (b"", {"default_user": "limited"}),
        (None, {}),
        (1, {}),
        ([b"OK"], {}),
    ],
)
def test_it_reads_what_servers_answer(reply: Reply, facts: dict[str, str]) -> None:
    assert told(reply) == [facts]


def test_it_tells_changes_only() -> None:
    assert told(b"OK", b"OK", b"no", b"no", b"OK") == [
        {"default_user": "all"},
        {},
        {"default_user": "limited"},
        {},
        {"default_user": "all"},
    ]


@pytest.mark.parametrize(
    ("engine", "version", "is_wanted"),
    [
        (Engine.REDIS, (6, 2, 14), False),
        (Engine.REDIS, (7, 0, 0), True),
        (Engine.VALKEY, (7, 2, 4), True),
        (Engine.MEMCACHED, (7, 2, 4), False),
        (Engine.REDIS, (), False),
    ],
)
def test_it_asks_servers_that_know_the_command(engine: str, version: tuple[int, ...], is_wanted: bool) -> None:
    assert DefaultUser().wanted(Standing(engine, version)) == is_wanted


def test_it_finds_a_real_default_user_with_all_rights_and_changes_nothing(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    with redis.Redis(host="127.0.0.1", port=server.port, protocol=2) as client:
        before = client.acl_list()

        assert told(client.execute_command(*MAY_CHANGE_USERS)) == [{"default_user": "all"}]

        assert client.acl_list() == before


def test_it_finds_a_real_default_user_with_few_rights(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    with redis.Redis(host="127.0.0.1", port=server.port, protocol=2) as client:
        client.execute_command("ACL", "SETUSER", "watcher", "on", "nopass", "+@all")
        client.execute_command("AUTH", "watcher", "any")
        client.execute_command("ACL", "SETUSER", "default", "-@admin")

        assert told(client.execute_command(*MAY_CHANGE_USERS)) == [{"default_user": "limited"}]
