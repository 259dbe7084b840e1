"""Settings come from the environment: typed, and loud where they cannot be meant."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config import env

Set = Callable[[str], None]


@pytest.fixture
def given_value(monkeypatch: pytest.MonkeyPatch) -> Set:
    """Set the variable THING."""
    monkeypatch.delenv("THING", raising=False)
    monkeypatch.delenv("THING_FILE", raising=False)
    return lambda value: monkeypatch.setenv("THING", value)


@pytest.fixture
def no_value(given_value: Set) -> None:
    """Nobody set THING."""


@pytest.fixture
def given_file(given_value: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], Path]:
    """Let THING_FILE name a file with this content."""

    def write(content: bytes) -> Path:
        path = tmp_path / "secret"
        path.write_bytes(content)
        monkeypatch.setenv("THING_FILE", str(path))
        return path

    return write


def test_it_reads_a_text_as_it_is(given_value: Set) -> None:
    given_value("  spaced out ")

    assert env.text("THING") == "  spaced out "


def test_an_empty_text_is_a_text(given_value: Set) -> None:
    given_value("")

    assert env.text("THING", "default") == ""


def test_it_names_the_variable_that_is_missing(no_value: None) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Set THING \(or THING_FILE\)"):
        env.text("THING")


def test_it_takes_a_secret_from_a_file_without_its_line_end(given_file: Callable[[bytes], Path]) -> None:
    given_file("sécret\r\n".encode())

    assert env.text("THING") == "sécret"


def test_a_file_comes_before_the_variable(given_file: Callable[[bytes], Path], given_value: Set) -> None:
    given_value("old")
    given_file(b"new")

    assert env.text("THING") == "new"


def test_a_file_that_is_missing_is_no_default(given_file: Callable[[bytes], Path]) -> None:
    path = given_file(b"x")
    path.unlink()

    with pytest.raises(ImproperlyConfigured, match=f"THING_FILE names {path}"):
        env.text("THING", "default")


def test_a_folder_is_no_file(given_file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING_FILE", str(given_file(b"x").parent))

    with pytest.raises(ImproperlyConfigured, match="cannot be read"):
        env.text("THING")


def test_a_file_that_is_no_text_is_named(given_file: Callable[[bytes], Path]) -> None:
    given_file(b"\xff\xfe\x00")

    with pytest.raises(ImproperlyConfigured, match="THING_FILE"):
        env.text("THING")


@pytest.mark.parametrize(("raw", "value"), [("0", 0), ("1.5", 1.5), (" 7 ", 7), ("1e3", 1000), ("-0", 0)])
def test_it_reads_numbers(raw: str, value: float, given_value: Set) -> None:
    given_value(raw)

    assert env.number("THING", 3) == value


@pytest.mark.parametrize("raw", ["", "x", "1,5", "0x10", "１ ０", "1 2", "--1"])
def test_it_names_what_is_no_number(raw: str, given_value: Set) -> None:
    given_value(raw)

    with pytest.raises(ImproperlyConfigured, match="THING must be a number"):
        env.number("THING", 3)


@pytest.mark.parametrize("raw", ["inf", "1e400"])
def test_it_refuses_numbers_without_end(raw: str, given_value: Set) -> None:
    given_value(raw)

    with pytest.raises(ImproperlyConfigured, match="a number with an end"):
        env.number("THING", 3, minimum=1)


def test_it_refuses_numbers_above_the_maximum(given_value: Set) -> None:
    given_value("241")

    with pytest.raises(ImproperlyConfigured, match="at most 240"):
        env.whole("THING", 60, minimum=60, maximum=240)


def test_the_maximum_itself_is_allowed(given_value: Set) -> None:
    given_value("240")

    assert env.whole("THING", 60, minimum=60, maximum=240) == 240


@pytest.mark.parametrize("raw", ["nan", "-inf", "-1", "0.99", "-1e400"])
def test_it_refuses_numbers_below_the_minimum(raw: str, given_value: Set) -> None:
    given_value(raw)

    with pytest.raises(ImproperlyConfigured, match="at least 1"):
        env.number("THING", 3, minimum=1)


def test_the_minimum_itself_is_allowed(given_value: Set) -> None:
    given_value("1")

    assert env.number("THING", 3, minimum=1) == 1


def test_the_default_stands_where_nothing_is_given(no_value: None) -> None:
    assert (env.number("THING", 2.5), env.whole("THING", 4)) == (2.5, 4)


@pytest.mark.parametrize(("raw", "value"), [("15", 15), ("15.0", 15), ("2e1", 20), ("9007199254740992", 2**53)])
def test_it_reads_whole_numbers(raw: str, value: int, given_value: Set) -> None:
    given_value(raw)

    found = env.whole("THING", 1)

    assert (found, type(found)) == (value, int)


@pytest.mark.parametrize("raw", ["1.5", "0.0001"])
def test_it_refuses_a_fraction_where_none_is_meant(raw: str, given_value: Set) -> None:
    given_value(raw)

    with pytest.raises(ImproperlyConfigured, match="whole number"):
        env.whole("THING", 1)


@pytest.mark.parametrize("raw", ["1", "true", "True", "YES", "on", "oN"])
def test_it_reads_a_yes(raw: str, given_value: Set) -> None:
    given_value(raw)

    assert env.flag("THING", default=False) is True


@pytest.mark.parametrize("raw", ["0", "false", "No", "OFF", ""])
def test_it_reads_a_no(raw: str, given_value: Set) -> None:
    given_value(raw)

    assert env.flag("THING", default=True) is False


@pytest.mark.parametrize("raw", ["2", "y", "enabled", "yes please", "нет"])
def test_it_guesses_no_flag(raw: str, given_value: Set) -> None:
    given_value(raw)

    with pytest.raises(ImproperlyConfigured, match="THING must be yes or no"):
        env.flag("THING", default=True)


@pytest.mark.parametrize("default", [True, False])
def test_a_flag_has_its_default(default: bool, no_value: None) -> None:
    assert env.flag("THING", default) is default


@pytest.mark.parametrize(
    ("raw", "parts"), [("", []), (" , ,", []), ("a", ["a"]), (" a ,, b c ,", ["a", "b c"]), ("*", ["*"])]
)
def test_it_splits_words_at_commas(raw: str, parts: list[str], given_value: Set) -> None:
    given_value(raw)

    assert env.words("THING") == parts


@given(st.lists(st.text(st.characters(codec="ascii", min_codepoint=33, exclude_characters=","), min_size=1)))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_gives_back_the_words_that_were_joined(given_value: Set, parts: list[str]) -> None:
    given_value(" , ".join(parts))

    assert env.words("THING") == parts


def places(found: dict[str, object]) -> list[object]:
    return [found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgres://u:p@db:5433/watch", ["watch", "u", "p", "db", "5433"]),
        ("postgresql://db/watch", ["watch", "", "", "db", ""]),
        ("postgres://u@/watch?host=/run/pg", ["watch", "u", "", "/run/pg", ""]),
        ("postgres://u:p%40%2F%25@db/a%20b", ["a b", "u", "p@/%", "db", ""]),
        ("postgres://[::1]:5432/watch", ["watch", "", "", "::1", "5432"]),
        ("postgres:///", ["", "", "", "", ""]),
    ],
)
def test_it_reads_the_address_of_a_database(url: str, place: list[object], given_value: Set) -> None:
    given_value(url)

    assert places(env.database("THING", "")) == place


def test_further_parameters_of_a_database_are_options(given_value: Set) -> None:
    given_value("postgres://db/watch?sslmode=require&host=other&connect_timeout=3")

    found = env.database("THING", "")

    assert (found["OPTIONS"], found["HOST"]) == ({"sslmode": "require", "connect_timeout": "3"}, "other")


@pytest.mark.parametrize("url", ["", "mysql://db/watch", "db/watch", "sqlite:///x"])
def test_it_takes_no_other_database(url: str, given_value: Set) -> None:
    given_value(url)

    with pytest.raises(ImproperlyConfigured, match="postgres://"):
        env.database("THING", "")


@pytest.mark.parametrize("url", ["postgres://db:x/watch", "postgres://db:99999/watch", "postgres://[::1/watch"])
def test_a_database_at_no_port_is_named_without_its_password(url: str, given_value: Set) -> None:
    given_value(url.replace("://", "://u:hunter2@"))

    with pytest.raises(ImproperlyConfigured, match="THING") as caught:
        env.database("THING", "")

    assert "hunter2" not in str(caught.value)
