"""Rows of the service's figures: what is written, what is left alone, and what becomes of them with time."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from collectors import partitions, retention
from collectors.cloud import rollups
from collectors.cloud.feed import CloudPlace
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.places import MOST_PLACES, Instances, Key, Places, bounded, named, numbered
from collectors.cloud.products import Product
from collectors.cloud.reading import pieces
from collectors.cloud.service_metrics import POSITION
from collectors.cloud.storing import SIZE, Row, Stored, merged, store, value_of
from collectors.tests.cloud_cast import NOON

pytestmark = pytest.mark.django_db
AT = int(NOON.timestamp())
USED, KEYS, HITS = (POSITION[name] for name in ("service_used_memory", "service_keys", "service_hit_ratio"))


@pytest.fixture
def place() -> CloudPlace:
    project = CloudProject.objects.create(project_id="shop-prod-1")
    owner = CloudInstance.objects.create(project=project, product=Product.REDIS, name="n", uid="u", region="r")
    return CloudPlace.objects.create(instance=owner, seen_on=NOON.date())


def row(**values: float) -> Row:
    """Return a row with some numbers, by the name of the metric without its prefix."""
    numbers: Row = [None] * SIZE
    for name, value in values.items():
        numbers[POSITION[f"service_{name}"]] = value
    return numbers


def numbers(place: int = 1) -> list[list[float | None]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT numbers FROM cloud_sample WHERE place_id = %s ORDER BY at", [place])
        return [found for (found,) in cursor.fetchall()]


def rolled(tier: str, column: str) -> list[float | None]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column}[%s] FROM {rollups.TABLE[tier]} ORDER BY at", [USED + 1])
        return [value for (value,) in cursor.fetchall()]


def test_a_row_that_is_stored_already_is_not_written_again() -> None:
    rows = [(AT, 1, row(used_memory=5))]

    assert (store(rows), store(rows)) == (1, 0)


def test_a_number_that_changed_is_written() -> None:
    store([(AT, 1, row(used_memory=5, keys=2))])

    assert store([(AT, 1, row(used_memory=6))]) == 1
    assert (numbers()[0][USED], numbers()[0][KEYS]) == (6, 2)


def test_a_number_that_is_missing_now_is_kept() -> None:
    store([(AT, 1, row(used_memory=5, keys=2))])

    assert store([(AT, 1, row(keys=2))]) == 0
    assert numbers()[0][USED] == 5


def test_a_process_does_not_send_what_it_stored() -> None:
    known = Stored()
    given = {(1, AT): row(used_memory=5)}
    known.write(given, NOON)

    with connection.execute_wrapper(refuse):
        assert known.write(given, NOON) == 0


def refuse(*_: object) -> None:
    raise AssertionError("the database was asked")


def test_a_process_forgets_what_the_service_brings_no_more() -> None:
    known = Stored()
    known.write({(1, AT): row(used_memory=5)}, NOON)

    known.write({(1, AT + 60): row(used_memory=6)}, NOON)

    assert len(known) == 1


def test_points_older_than_samples_are_kept_are_left_out() -> None:
    assert Stored().write({(1, AT): row(used_memory=5)}, NOON + timedelta(days=30)) == 0


def test_numbers_of_one_place_are_put_together_as_each_metric_says() -> None:
    both = merged(row(blocked_clients=5, keys=2, hit_ratio=0.5), row(blocked_clients=6, hit_ratio=0.4))

    assert both[POSITION["service_blocked_clients"]] == 11
    assert (both[KEYS], both[HITS]) == (2, 0.4)


@pytest.mark.parametrize(("kind", "value"), [(1, 1.0), (2, 7.0), (3, 0.5), (4, None), (5, None), (99, None)])
def test_only_numbers_and_claims_have_a_value(kind: int, value: float | None) -> None:
    class Typed:
        bool_value, int64_value, double_value = True, 7, 0.5

    assert value_of(Typed(), kind) == value


def test_five_minutes_become_one_row() -> None:
    store([(AT + 60 * minute, 1, row(used_memory=minute)) for minute in range(5)])

    rollups.roll_up(NOON + timedelta(minutes=20))

    assert [rolled("5m", column) for column in ("mean", "minimum", "maximum", "last")] == [[2], [0], [4], [4]]


def test_an_interval_waits_for_its_last_points() -> None:
    store([(AT, 1, row(used_memory=5))])

    assert rollups.roll_up(NOON + timedelta(minutes=15)) == 0


def test_an_interval_is_made_again_where_a_point_came_late() -> None:
    store([(AT, 1, row(used_memory=5))])
    rollups.roll_up(NOON + timedelta(minutes=20))
    store([(AT + 60, 1, row(used_memory=7))])

    rollups.roll_up(NOON + timedelta(minutes=20))

    assert rolled("5m", "mean") == [6]


def test_an_hour_becomes_one_row() -> None:
    store([(AT + 60 * minute, 1, row(used_memory=minute)) for minute in range(60)])

    rollups.roll_up(NOON + timedelta(hours=2))

    assert (rolled("1h", "mean"), rolled("1h", "last")) == ([29.5], [59])


def test_rolling_up_twice_changes_nothing() -> None:
    store([(AT, 1, row(used_memory=5))])
    rollups.roll_up(NOON + timedelta(hours=2))

    assert rollups.roll_up(NOON + timedelta(hours=2)) == 0


def test_readers_take_finer_samples_from_the_first_interval_that_is_due() -> None:
    store([(AT, 1, row(used_memory=5)), (AT + 3600, 1, row(used_memory=6))])
    rollups.roll_up(NOON + timedelta(minutes=75))

    found = pieces("1h", NOON, NOON + timedelta(hours=3))

    hour = NOON + timedelta(hours=1)
    assert found == [("1h", NOON, hour), ("raw", hour, NOON + timedelta(hours=3))]


def test_the_widest_tier_of_nodes_is_read_from_hours() -> None:
    assert pieces("8h", NOON, NOON + timedelta(days=300))[0][0] == "1h"


def test_days_that_are_not_kept_are_dropped() -> None:
    store([(AT, 1, row(used_memory=5))])

    dropped = partitions.drop_expired(NOON + timedelta(days=20))

    assert "cloud_sample_p20260302" in dropped


def test_a_place_is_forgotten_with_its_last_sample(place: CloudPlace) -> None:
    retention.keep_partitions(datetime(2031, 1, 1, tzinfo=UTC))

    assert not CloudPlace.objects.exists()


def test_a_place_keeps_its_number(place: CloudPlace) -> None:
    wanted = (place.instance_id, "", "")

    assert numbered([wanted], NOON.date()) == {wanted: place.pk}


def test_labels_that_never_end_make_no_more_places_than_a_product_has_nodes() -> None:
    places = {(1, f"node-{number}", "") for number in range(MOST_PLACES + 5)}

    assert len(bounded({*places, (2, "", "")})) == MOST_PLACES + 1


def test_an_instance_is_found_by_its_full_path() -> None:
    key = Key("redis", "", "projects/shop/locations/us-west1/instances/sessions", "", "", "node-0", "primary")

    assert named(key) == ("shop", "us-west1", "sessions")


def known_instances() -> Instances:
    found = Instances(projects={"shop"})
    found.by_region["shop", "memcached", "us-west1", "pages"] = 7
    found.by_name["shop", "memcached", "pages"] = [7]
    return found


@pytest.mark.parametrize("location", ["us-west1", "us-west1-b", ""])
def test_an_instance_is_found_by_region_zone_or_neither(location: str) -> None:
    assert known_instances().find(Key("memcached", "shop", "pages", "", location, "node-1", "")) == 7


def test_an_instance_is_found_where_the_project_is_given_by_its_number() -> None:
    assert known_instances().find(Key("memcached", "123456", "pages", "", "us-west1-b", "", "")) == 7


def test_an_instance_of_another_region_is_another_one() -> None:
    assert known_instances().find(Key("memcached", "shop", "pages", "", "us-east1", "", "")) is None


def test_one_name_in_two_regions_is_not_guessed_at() -> None:
    found = known_instances()
    found.by_name["shop", "memcached", "pages"].append(8)

    assert found.find(Key("memcached", "shop", "pages", "", "", "", "")) is None


def test_a_place_that_tells_something_again_was_seen_today(place: CloudPlace) -> None:
    CloudInstance.objects.update(region="us-west1", short_id="pages", product=Product.MEMCACHED)
    known, places, later = Instances.of([*CloudProject.objects.all()]), Places(), NOON.date() + timedelta(days=1)
    key, other = (Key("memcached", "shop-prod-1", "pages", "", "", node, "") for node in ("", "node-1"))
    places.of([key, other], known, NOON.date())

    places.of([other], known, later)
    places.of([key, other], known, later)

    assert {one.seen_on for one in CloudPlace.objects.all()} == {later}
