"""bin/manage memkeys, as a process of its own: what it prints, how it exits, and that it needs no database."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from collectors.tests.keyscan import brute_force, client_of, largest
from collectors.tests.peers import closed_port
from conftest import PATIENCE_SECONDS, ClusterFactory, ValkeyFactory
from launcher.checkout import ROOT
from launcher.valkey import Valkey


def memkeys(*words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command where no database answers."""
    env = {**os.environ, "DATABASE_URL": f"postgres://nobody@127.0.0.1:{closed_port()}/none", **environment}
    command = [sys.executable, str(ROOT / "manage.py"), "memkeys", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, timeout=60, check=False)


def report_of(*words: object, **environment: str) -> dict[str, Any]:
    said = memkeys(*words, "--json", **environment)
    assert said.returncode == 0, said.stderr
    return dict(json.loads(said.stdout))


def filled(server: Valkey) -> dict[bytes, int]:
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(300):
        pipe.set(f"user_cache:{number}:profile", "x" * (number * 7))
        pipe.zadd(f"board:{number % 5}", {f"player:{number}": number})
    pipe.hset(b"\xff\x00raw", "field", "y" * 40_000)
    pipe.execute()
    return brute_force(server)


def test_it_prints_one_object(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    expected = filled(server)

    report = report_of(server.url, "--brake", "fast")

    assert (report["keys"], report["bytes"], report["complete"]) == (len(expected), sum(expected.values()), True)
    top = [(base64.b64decode(entry["key_base64"]), entry["bytes"]) for entry in report["top"]]
    assert top == largest(expected)
    first = report["top"][0]
    assert first["key"] == "\\xff\\x00raw"
    assert (first["type"], first["exact"], first["node"]) == ("hash", True, f"127.0.0.1:{server.port}")
    assert sum(node["keys"] for node in report["nodes"]) == report["keys"]
    assert {"prefix", "keys", "bytes"} == report["prefixes"][0].keys()


def test_it_prints_progress_as_redis_cli_does_and_a_table(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server)

    said = memkeys(server.url, "--brake", "fast", "--top", 3)

    assert said.returncode == 0
    assert '%] Biggest hash   found so far "\\xff\\x00raw" with ' in said.stdout
    lines = said.stdout.splitlines()
    start = lines.index(next(line for line in lines if "elements" in line))
    assert [line.split()[1] for line in lines[start + 1 : start + 4]] == ["hash", "string", "string"]
    assert "Measured all keys: 306, with" in said.stdout


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--match", "board:*"], 5),
        (["--type", "zset"], 5),
        (["--match", "user_cache:1:*", "--type", "string"], 1),
        (["--match", "nothing*"], 0),
    ],
)
def test_it_measures_the_keys_asked_for(valkey_server: ValkeyFactory, options: list[str], keys: int) -> None:
    server = valkey_server()
    filled(server)

    assert report_of(server.url, "--brake", "brisk", *options)["keys"] == keys


def test_it_reads_fields_of_every_key(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server)

    report = report_of(server.url, "--brake", "fast", "--fields", "type,len", "--top", "306")

    assert all(entry["type"] and entry["elements"] for entry in report["top"] if entry["key"] != "user_cache:0:profile")
    assert all(entry["encoding"] is None and entry["idle_seconds"] is None for entry in report["top"])


def test_it_marks_what_a_single_pass_estimates(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    filled(server)

    estimates = report_of(server.url, "--brake", "fast", "--samples", "5")
    whole = report_of(server.url, "--brake", "fast", "--samples", "0")

    assert not any(entry["exact"] for entry in estimates["top"])
    assert all(entry["exact"] for entry in whole["top"])


def test_it_keeps_redis_clis_interval(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    expected = filled(server)

    report = report_of(server.url, "-i", "0.2")

    assert report["keys"] == len(expected)


def test_it_scans_every_shard_of_a_cluster(own_valkey_cluster: ClusterFactory) -> None:
    nodes = own_valkey_cluster(shards=3, replicas=1)
    client = __import__("redis").RedisCluster(host="127.0.0.1", port=nodes[0].port)
    for number in range(200):
        client.set(f"key:{number}", "x" * number)
    client.close()

    primaries = report_of(nodes[1].url, "--brake", "fast")
    replicas = report_of(nodes[1].url, "--brake", "fast", "--replica")

    assert (primaries["keys"], replicas["keys"]) == (200, 200)
    assert {node["node"] for node in primaries["nodes"]} == {f"127.0.0.1:{node.port}" for node in nodes[:3]}
    assert {node["role"] for node in replicas["nodes"]} == {"replica"}


def test_it_takes_the_password_from_the_environment(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--requirepass", "s3cret")

    report = report_of(server.url, "--brake", "fast", REDISCLI_AUTH="s3cret")

    assert report["complete"]


def test_it_never_prints_the_password(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--requirepass", "s3cret")

    said = memkeys(f"redis://:wrong-s3cret@127.0.0.1:{server.port}")

    assert said.returncode == 1
    assert "s3cret" not in said.stdout + said.stderr


def test_it_starts_without_apps_and_tables() -> None:
    """Their start would take longer than most scans."""
    heavy = {"django.db.models", "celery", "config.settings", "cryptography"}
    script = f"import sys, collectors.keyscan.command; print(sorted({heavy} & set(sys.modules)))"

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)

    assert said.stdout.strip() == "[]"


def test_it_knows_its_options_in_django_too() -> None:
    said = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "help", "memkeys"], capture_output=True, text=True, check=True
    )

    assert "--store" in said.stdout


def test_it_says_that_a_server_cannot_be_reached() -> None:
    said = memkeys(f"redis://127.0.0.1:{closed_port()}")

    assert said.returncode == 1
    assert "Nothing listens on this port" in said.stderr


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["http://example.org"],
        ["redis://h:0"],
        ["redis://h", "--brake", "hard"],
        ["redis://h", "--top", "0"],
        ["redis://h", "--top", "10001"],
        ["redis://h", "--samples", "-1"],
        ["redis://h", "--fields", "value"],
        ["redis://h", "-i", "0"],
        ["redis://h", "--ca-bundle", "/no/such/file"],
    ],
)
def test_it_exits_with_2_for_wrong_usage(words: list[str]) -> None:
    assert memkeys(*words).returncode == 2


def test_it_ends_early_with_what_it_has_when_interrupted(valkey_server: ValkeyFactory, tmp_path: Path) -> None:
    server = valkey_server()
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(30_000):
        pipe.set(f"key:{number}", "x")
    pipe.execute()
    command = [sys.executable, str(ROOT / "manage.py"), "memkeys", server.url, "-i", "0.5", "--json"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stderr is not None
    # The first line of progress: the walk is under way.
    child.stderr.readline()
    threading.Thread(target=child.stderr.read, daemon=True).start()

    child.send_signal(signal.SIGINT)

    assert child.stdout is not None
    report = json.loads(child.stdout.read())
    assert child.wait(PATIENCE_SECONDS) == 1
    assert report["complete"] is False
    assert 0 < report["keys"] < 30_000
