"""Whether a switch took effect: every state, and what each of them needs."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from collectors import samples
from collectors.models import PollLease
from collectors.tests.cast import cache_with_nodes, noon, reading
from fleet.models import Cache
from switches import changing, proof, traffic
from switches.models import Instance, Sighting, Switch
from switches.proof import Missing, Proof, Standing, State
from switches.tests.cast import WHY, instance, operator, switch

pytestmark = pytest.mark.django_db
# Turned off at noon; five polls later.
NOW = noon(75)


@pytest.fixture
def target() -> Cache:
    return cache_with_nodes(2, 1)


def turned_off(target: Cache | None, **given: Any) -> Switch:
    """Return a switch that is off since noon."""
    made = changing.turn_off(switch(cache_now=target, **given), operator(), WHY)
    Switch.objects.filter(pk=made.pk).update(stepped_at=noon(), changed_at=noon())
    made.refresh_from_db()
    return made


def reports(of: Switch, name: str = "pod-1", **fields: Any) -> Instance:
    return instance(of, name, **{"seen_at": NOW - timedelta(seconds=2), "address": "10.1.1.1", **fields})


def polled(target: Cache, per_second: float, until: int = 75) -> None:
    """Write samples of minutes: 100 commands and 10 hits a second before noon, so many commands after it."""
    primaries = [node for node in target.nodes.all() if node.role == "primary"]
    seconds, readings = [-600, -300, -15, *range(0, until + 1, 15)], []
    commands, hits = 0.0, 0.0
    for before, second in pairwise([seconds[0], *seconds]):
        commands += (second - before) * (100 if second <= 0 else per_second) / len(primaries)
        hits += (second - before) * (10 if second <= 0 else 0) / len(primaries)
        hot = {"total_commands_processed": int(commands), "keyspace_hits": int(hits)}
        readings += [reading(node, second, **hot) for node in primaries]
    samples.write(readings)


def seen(of: Switch, connections: int = 0, **fields: Any) -> None:
    Sighting.objects.create(switch=of, read_at=NOW, begun_at=NOW, connections=connections, **fields)


def found(of: Switch) -> Proof:
    return proof.of(Switch.objects.get(pk=of.pk), NOW)


def test_both_proofs_make_it_disabled(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    polled(target, 0)
    seen(off)

    told = found(off)

    assert (told.state, told.is_quiet, told.connections, told.missing) == (State.DISABLED, True, 0, ())
    assert told.is_safe_to_repoint
    assert [reader.name for reader in told.standing(Standing.APPLIED)] == ["pod-1"]


def test_an_instance_that_has_not_applied_it_keeps_it_draining(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    reports(off, "pod-2", revision=1)
    polled(target, 0)
    seen(off)

    told = found(off)

    assert told.state == State.DRAINING
    assert [reader.name for reader in told.standing(Standing.BEHIND)] == ["pod-2"]
    assert not told.is_safe_to_repoint


def test_traffic_keeps_it_draining(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    polled(target, 40)
    seen(off)

    told = found(off)

    assert (told.state, told.is_quiet) == (State.DRAINING, False)
    assert told.traffic is not None
    assert [round(value) for value in told.traffic.commands] == [40, 40, 40]


def test_a_floor_says_what_counts_as_silence(target: Cache) -> None:
    off = turned_off(target, floor_per_second=45.0)
    reports(off)
    polled(target, 40)
    seen(off)

    assert found(off).state == State.DISABLED


def test_too_few_polls_prove_nothing(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    polled(target, 0, until=30)
    seen(off)

    told = proof.of(off, noon(45))

    assert (told.state, told.is_quiet) == (State.DRAINING, None)


def test_our_own_commands_and_those_of_replicas_do_not_count(target: Cache) -> None:
    off = turned_off(target, floor_per_second=0.5)
    PollLease.objects.create(cache=target, commands=60)
    # Four nodes share 60 commands in 15 seconds; two replicas say each second how far they are.
    polled(target, 4)

    told = traffic.since(target, noon(), NOW)

    assert (told.own, told.replication) == (2.0, 2.0)
    assert [round(value) for value in told.remaining] == [0, 0, 0]
    assert told.is_quiet(off.floor_per_second)


def test_one_that_says_applied_but_is_connected_is_named(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    reports(off, "liar", address="10.1.1.2")
    polled(target, 0)
    seen(off, connections=3, present={"10.1.1.2": [3, 0, "get"]})

    told = found(off)

    assert told.state == State.DRAINING
    assert [(liar.name, liar.connections, liar.idle_seconds, liar.command) for liar in told.liars] == [
        ("liar", 3, 0, "get")
    ]


def test_it_is_not_called_unproven_while_proofs_are_still_to_come(target: Cache) -> None:
    off = turned_off(target)
    reports(off, address="")
    seen(off, connections=4)

    assert (found(off).state, found(off).missing) == (State.DRAINING, (Missing.ADDRESSES,))


def test_connections_are_told_by_their_name_too(target: Cache) -> None:
    off = turned_off(target)
    reports(off, "liar", address="")
    seen(off, connections=1, present={"liar": [1, 2, "set"]})

    assert [liar.name for liar in found(off).liars] == ["liar"]


def test_without_reports_it_is_unproven(target: Cache) -> None:
    off = turned_off(target)
    polled(target, 0)
    seen(off)

    told = found(off)

    assert (told.state, told.missing) == (State.UNPROVEN, (Missing.REPORTS,))
    assert "OFREP" in str(Missing.REPORTS.label)


def test_a_refused_client_list_is_unproven(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    polled(target, 0)
    seen(off, failed_cause="no-permission", failed_words="NOPERM")

    told = found(off)

    assert (told.state, told.missing) == (State.UNPROVEN, (Missing.CLIENT_LIST,))
    assert told.look_failure


def test_without_a_cache_it_is_unproven() -> None:
    off = turned_off(None)
    reports(off)

    assert (found(off).state, found(off).missing) == (State.UNPROVEN, (Missing.CACHE,))


def test_a_cache_that_nobody_polls_is_unproven(target: Cache) -> None:
    off = turned_off(target)
    reports(off, seen_at=noon(600))
    Sighting.objects.create(switch=off, read_at=noon(600), begun_at=noon(600))

    told = proof.of(off, noon(602))

    assert (told.state, told.missing) == (State.UNPROVEN, (Missing.POLLS,))


def test_a_paused_cache_is_unproven(target: Cache) -> None:
    target.is_paused = True
    target.save()
    off = turned_off(target)
    reports(off)

    assert Missing.POLLS in found(off).missing


def test_connections_that_cannot_be_told_apart_are_unproven(target: Cache) -> None:
    off = turned_off(target)
    reports(off, address="")
    polled(target, 0)
    seen(off, connections=4)

    assert (found(off).state, found(off).missing) == (State.UNPROVEN, (Missing.ADDRESSES,))


def test_what_was_seen_before_it_was_turned_off_proves_nothing(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    polled(target, 0)
    Sighting.objects.create(switch=off, read_at=noon(-5), begun_at=noon(-5))

    told = found(off)

    assert (told.state, told.connections) == (State.DRAINING, None)


def test_a_silent_instance_is_shown_and_holds_up_nobody(target: Cache) -> None:
    off = turned_off(target)
    reports(off)
    reports(off, "lost", revision=1, seen_at=NOW - timedelta(minutes=5))
    polled(target, 0)
    seen(off)

    told = found(off)

    assert told.state == State.DISABLED
    assert [reader.name for reader in told.standing(Standing.SILENT)] == ["lost"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Standing.APPLIED),
        ({"revision": 1}, Standing.BEHIND),
        ({"revision": 3}, Standing.BEHIND),
        ({"epoch": 1}, Standing.APPLIED),
        ({"epoch": 7}, Standing.BEHIND),
        ({"behind_at": NOW - timedelta(seconds=3)}, Standing.BEHIND),
        ({"behind_at": NOW - timedelta(seconds=30)}, Standing.APPLIED),
        ({"behind_at": noon(-1)}, Standing.APPLIED),
        ({"seen_at": NOW - timedelta(seconds=27)}, Standing.APPLIED),
        ({"seen_at": NOW - timedelta(seconds=31)}, Standing.SILENT),
    ],
    ids=["now", "old", "future", "epoch", "other-epoch", "lags", "lagged", "before", "slow", "silent"],
)
def test_how_far_an_instance_is(target: Cache, fields: dict[str, Any], expected: Standing) -> None:
    off = turned_off(target)
    reports(off, **fields)

    (reader,) = found(off).readers

    assert reader.standing == expected


def test_it_says_what_will_fall_on_the_database(target: Cache) -> None:
    off = turned_off(target)
    polled(target, 0)

    hits = found(off).hits_per_second

    assert hits is not None
    assert 9.5 < hits < 10.5


def test_a_cache_without_samples_has_unknown_hits(target: Cache) -> None:
    assert found(turned_off(target)).hits_per_second is None


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"percent": 100}, State.ENABLED),
        ({"percent": 10}, State.CANARY),
        ({"percent": 0, "is_repointing": True}, State.REPOINTING),
        ({"percent": 100, "retired_at": noon()}, State.RETIRED),
    ],
)
def test_the_other_states_need_no_proof(target: Cache, fields: dict[str, Any], state: State) -> None:
    made = switch(cache_now=target)
    Switch.objects.filter(pk=made.pk).update(**fields)

    assert found(made).state == state
