import pytest

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from fleet.models import Cache
from fleet.registration import register
from fleet.tests.certificates import made_pair

pytestmark = pytest.mark.django_db
# Nothing listens on the discard port here.
NEW = {"name": "game", "address": "redis://127.0.0.1:9", "poll_interval_seconds": "15", "tls_check_hostname": "on"}


def test_it_registers_what_the_form_says() -> None:
    answer = client_of(Role.OPERATOR).post(
        "/caches/new/", {**NEW, "labels": "env=test\nteam=game", "password": "secret"}
    )

    cache = Cache.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, "/caches/game/")
    assert (cache.labels, cache.password.reveal()) == ({"env": "test", "team": "game"}, "secret")


def test_it_tells_what_was_found_although_nothing_answered() -> None:
    page = client_of(Role.OPERATOR).post("/caches/new/", NEW, follow=True)

    assert "Nothing listens on this port" in page.content.decode()
    assert Cache.objects.exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "Game"}, "small letters"),
        ({"name": "new"}, "uses this name itself"),
        ({"address": "http://a"}, "use redis://"),
        ({"address": "redis://\0"}, "Null characters"),
        ({"labels": "env"}, "write key=value"),
        ({"poll_interval_seconds": "0"}, "greater than or equal to 1"),
        ({"poll_interval_seconds": "9" * 50}, "less than or equal to 120"),
        ({"plan_memory_bytes": "9" * 50}, "less than or equal"),
        ({"plan_maxclients": "٣x"}, "whole number"),
        ({"address": "rediss://a", "client_key": "x"}, "belong together"),
    ],
)
def test_it_says_beside_the_field_what_is_wrong(given: dict[str, str], words: str) -> None:
    page = client_of(Role.OPERATOR).post("/caches/new/", {**NEW, **given})

    assert (page.status_code, words in page.content.decode()) == (400, True)
    assert not Cache.objects.exists()


def test_it_refuses_a_name_that_is_taken() -> None:
    register({"name": "game", "address": "redis://a"})

    page = client_of(Role.OPERATOR).post("/caches/new/", NEW)

    assert "exists already" in page.content.decode()


def edit_page_of(**given: str) -> str:
    register({"name": "game", "address": "rediss://a", **given})
    return client_of(Role.OPERATOR).get("/caches/game/edit/").content.decode()


def test_it_never_shows_secrets_again() -> None:
    certificate, key = made_pair()

    page = edit_page_of(password="hush-hush", client_certificate=certificate, client_key=key)

    assert "hush-hush" not in page
    assert "PRIVATE KEY" not in page
    assert "Leave empty to keep" in page


def test_it_offers_to_forget_only_what_is_stored() -> None:
    assert "Forget the stored" not in edit_page_of()


def change(**given: str) -> Cache:
    cache = register({"name": "game", "address": "redis://127.0.0.1:9", "password": "secret"})
    client_of(Role.OPERATOR).post("/caches/game/edit/", {**NEW, "revision": str(cache.revision), **given})
    return Cache.objects.get(pk=cache.pk)


def test_it_keeps_a_secret_that_is_left_empty() -> None:
    assert change(password="", poll_interval_seconds="60").password.reveal() == "secret"


def test_it_forgets_a_secret_on_request() -> None:
    assert change(clear_password="on").password.reveal() == ""


def test_it_renames_and_notes_it() -> None:
    assert change(name="game-2").name == "game-2"
    assert AuditEntry.objects.get(action="cache.change").detail == {"name": "game -> game-2"}


def test_it_does_not_overwrite_somebody_elses_change() -> None:
    change(is_paused="on")

    page = client_of(Role.OPERATOR).post("/caches/game/edit/", {**NEW, "revision": "1"})

    assert "in the meantime" in page.content.decode()
    assert Cache.objects.get().is_paused


def test_it_goes_on_naming_the_cache_whose_change_was_refused() -> None:
    register({"name": "game", "address": "redis://a"})

    page = client_of(Role.OPERATOR).post("/caches/game/edit/", {**NEW, "name": "No!", "revision": "1"})

    assert "Change game" in page.content.decode()


def test_it_removes_only_what_was_named() -> None:
    register({"name": "game", "address": "redis://a"})
    client = client_of(Role.OPERATOR)

    page = client.post("/caches/game/delete/", {"name": "gane"})

    assert "This is not the name" in page.content.decode()
    assert client.post("/caches/game/delete/", {"name": "game"})["Location"] == "/"
    assert not Cache.objects.exists()


def test_it_shows_the_steps_of_a_test_in_the_form_again() -> None:
    page = client_of(Role.OPERATOR).post("/caches/test/", {**NEW, "password": "hush-hush"}).content.decode()

    assert "Connection test" in page
    assert 'value="game"' in page
    assert "hush-hush" not in page


def test_it_sends_the_steps_alone_to_scripts() -> None:
    page = client_of(Role.OPERATOR).post("/caches/test/", NEW, headers={"HX-Request": "true"}).content.decode()

    assert "Connection test" in page
    assert "<html" not in page


def test_it_tests_before_there_is_a_name() -> None:
    page = client_of(Role.OPERATOR).post("/caches/test/", {**NEW, "name": ""}).content.decode()

    assert "Connection test" in page
    assert "This field is required" not in page


def test_it_tests_with_the_stored_password_and_saves_nothing() -> None:
    register({"name": "game", "address": "redis://a", "password": "secret"})

    client_of(Role.OPERATOR).post("/caches/test/", {**NEW, "editing": "game"})

    assert Cache.objects.get().address == "redis://a:6379"


@pytest.mark.parametrize("name", ["%01", "nothing", "a" * 300, "%ff"])
@pytest.mark.parametrize("page", ["edit", "delete"])
def test_it_knows_no_cache_of_an_odd_name(name: str, page: str) -> None:
    assert client_of(Role.OPERATOR).get(f"/caches/{name}/{page}/").status_code == 404


def test_a_corrected_address_leaves_no_node_of_the_mistyped_one() -> None:
    client = client_of(Role.OPERATOR)
    client.post("/caches/new/", NEW)
    cache = Cache.objects.get()

    client.post("/caches/game/edit/", {**NEW, "address": "redis://127.0.0.1:11", "revision": str(cache.revision)})

    assert list(cache.nodes.present().values_list("port", flat=True)) == [11]
