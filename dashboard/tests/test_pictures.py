"""Pictures drawn on the server."""

import re
from itertools import accumulate

import pytest

from dashboard.templatetags.pictures import SPARK_HEIGHT, SPARK_MARGIN, SPARK_STEP, bar, icon, spark_path, sparkline


def steps_of(path: str) -> list[tuple[int, int]]:
    """Return the moves of a path without gaps, as a browser would read them."""
    numbers = [int(text) for text in re.findall(r"-?\d+", path.split("l")[1])]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_it_leaves_gaps_as_gaps() -> None:
    path = spark_path([1, 2, None, 4, 5])

    assert path.count("M") == 2
    assert path.startswith("M0 ")
    assert "M6 " in path


def test_it_shows_a_lone_point() -> None:
    assert re.fullmatch(r"M2 \d+h0", spark_path([None, 5, None]))


def test_it_draws_noise_flat() -> None:
    assert max(abs(rise) for _width, rise in steps_of(spark_path([1000, 1001, 999, 1000]))) <= 2


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ([0, 0, 0, 0], "M0 45l6 0"),
        ([0, 10, 20, 10, 0], "M0 45l4-42 4 42"),
        ([None, 0, 0, None, None, 5, None], "M2 45l2 0M10 3h0"),
        ([0, 5], "M0 45l2-42"),
    ],
)
def test_it_takes_equal_steps_as_one(values: list[float | None], path: str) -> None:
    assert spark_path(values) == path


def test_its_steps_end_where_the_values_do() -> None:
    values = [float((number * 7919) % 101) for number in range(60)]

    path = spark_path(values)

    start = int(path.removeprefix("M0 ").split("l")[0])
    low, high = round(SPARK_HEIGHT - SPARK_MARGIN), SPARK_MARGIN
    assert sum(width for width, _rise in steps_of(path)) == 59 * SPARK_STEP
    heights = list(accumulate((rise for _width, rise in steps_of(path)), initial=start))
    assert (max(heights), min(heights)) == (low, high)


def test_it_runs_zero_along_the_floor() -> None:
    assert spark_path([0, 0]).startswith("M0 45")


def test_it_keeps_its_size_without_values() -> None:
    assert 'd=""' in sparkline(None)
    assert 'class="spark"' in sparkline([None, None])


def test_it_stripes_a_bar_without_a_limit_and_clamps_one_above_it() -> None:
    assert "bar-none" in bar(None)
    assert 'width="100.0%"' in bar(1.4)
    assert "bar-critical" in bar(0.96)
    assert "bar-warning" in bar(0.8)
    assert "bar-ok" in bar(0.79)
    assert "bar-ok" in bar(1.0, may_alarm=False)


def test_it_escapes_icon_names() -> None:
    assert "<script>" not in icon("<script>")
