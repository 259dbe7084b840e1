from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from conftest import ValkeyFactory
from fleet.models import Cache
from fleet.tests.certificates import made_pair

pytestmark = pytest.mark.django_db
# Nothing listens on the discard port here.
CLOSED = "redis://127.0.0.1:9"


def add(*arguments: str) -> str:
    call_command("add_cache", *arguments, stdout=(out := StringIO()))
    return out.getvalue()


def test_it_shows_the_steps_and_registers(valkey_server: ValkeyFactory) -> None:
    told = add("game", f"redis://127.0.0.1:{valkey_server().port}", "--label", "env=test", "--interval", "30")

    cache = Cache.objects.get()
    assert (cache.labels, cache.poll_interval_seconds) == ({"env": "test"}, 30)
    assert "ok" in told
    assert "game is registered." in told
    assert cache.nodes.count() == 1


def test_it_registers_what_does_not_answer_and_says_so() -> None:
    told = add("game", CLOSED)

    assert "failed" in told
    assert Cache.objects.exists()


def test_it_does_not_mind_being_run_again() -> None:
    add("game", CLOSED, "--no-test")

    assert add("game", "127.0.0.1:9") == "game is already registered.\n"


def test_it_refuses_a_name_that_watches_something_else() -> None:
    add("game", CLOSED, "--no-test")

    with pytest.raises(CommandError, match="exists already"):
        add("game", "redis://127.0.0.1:10", "--no-test")


def test_it_reads_secrets_from_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = made_pair()
    files = {"--ca": certificate, "--cert": certificate, "--key": key}
    for option, content in files.items():
        (tmp_path / option).write_text(content)
    monkeypatch.setenv("GAME_PASSWORD", "secret")

    options = [word for option in files for word in (option, str(tmp_path / option))]
    add("game", "rediss://127.0.0.1:9", "--no-test", "--username", "watch", "--password-env", "GAME_PASSWORD", *options)

    cache = Cache.objects.get()
    assert (cache.username, cache.password.reveal(), cache.client_key.reveal()) == ("watch", "secret", key)


def test_it_leaves_the_line_end_of_a_password_file_out(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")

    add("game", CLOSED, "--no-test", "--password-file", str(tmp_path / "password"))

    assert Cache.objects.get().password.reveal() == "secret"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Game", CLOSED], "small letters"),
        (["game", "http://a"], "use redis://"),
        (["game", CLOSED, "--label", "env"], "write key=value"),
        (["game", CLOSED, "--interval", "0"], "greater than or equal to 1"),
        (["game", CLOSED, "--password-file", "/nowhere"], "/nowhere cannot be read"),
        (["game", CLOSED, "--password-env", "NOWHERE_SET"], "NOWHERE_SET is not set"),
        (["game", CLOSED, "--ca", "/etc/hostname"], "rediss://"),
    ],
)
def test_it_refuses_with_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words) as caught:
        add(*arguments, "--no-test")

    assert caught.value.returncode == 1
    assert not Cache.objects.exists()
