"""Pictures drawn on the server."""

import re

from dashboard.templatetags.pictures import bar, icon, spark_path, sparkline


def test_it_leaves_gaps_as_gaps() -> None:
    path = spark_path([1, 2, None, 4, 5])

    assert path.count("M") == 2
    assert path.startswith("M0 ")
    assert "M6 " in path


def test_it_shows_a_lone_point() -> None:
    assert re.fullmatch(r"M2 \d+h0", spark_path([None, 5, None]))


def test_it_draws_noise_flat() -> None:
    heights = [int(step) for step in re.findall(r"l2 (-?\d+)", spark_path([1000, 1001, 999, 1000]))]

    assert max(map(abs, heights)) <= 2


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
