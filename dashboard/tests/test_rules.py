"""Pages of rules: the list with their state, the form, the YAML text."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts import pack
from alerts.alert import Alert
from alerts.rule import Rule
from alerts.rule_changes import as_yaml
from alerts.tests.judged import fleet, rule
from alerts.tests.test_trial import rolled
from dashboard.tests.alert_cast import firing

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
GIVEN = {
    "rule": "mine",
    "title": "My memory",
    "t0-metric": "memory_used_ratio",
    "t0-sign": ">",
    "t0-warning": "0.8",
    "t0-critical": "0.9",
    "hold": "5m",
    "join": "all",
}


def page(path: str = "/rules/", role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def post(path: str, role: str = Role.OPERATOR, /, **given: Any) -> tuple[int, str]:
    answer = client_of(role).post(path, given)
    return answer.status_code, answer.content.decode()


def test_it_lists_the_pack_by_area_in_words() -> None:
    pack.install()

    seen = page()

    assert seen.count("<tr>") >= Rule.objects.count()
    assert "Node down" in seen
    assert "Reachability" in seen
    assert "Fires where, for 5 min, the mean of memory_used_ratio over 2 min is above 80%" in seen


def test_an_area_of_the_pack_is_named_in_the_readers_language_and_others_as_written() -> None:
    for key, area in (("full", "memory"), ("mine", "my team")):
        found = rule(key)
        Rule.objects.filter(pk=found.pk).update(text=found.text | {"area": area})

    seen = client_of(Role.VIEWER).get("/rules/", headers={"Accept-Language": "ja"}).content.decode()

    assert "メモリ</h2>" in seen
    assert "my team</h2>" in seen


def test_it_tells_judged_dead_switched_off_and_broken_apart() -> None:
    rule()
    rule("dead", metric="maxclients")
    Rule.objects.update(edited_at=timezone.now() - timedelta(minutes=6))
    rule("fresh", metric="maxclients")
    Rule.objects.create(key="off", text=rule("spare").text | {"rule": "off"}, is_enabled=False)
    Rule.objects.create(key="broken", text={"rule": "broken", "when": HOSTILE})
    fleet(shards=3).poll(0.1, 0.1, 0.1)

    seen = page()

    assert "judges 3 targets" in seen
    assert "dead: it has never had a value" in seen
    assert "not judged yet" in seen
    assert "Switch on" in page(role=Role.OPERATOR)
    assert "cannot be read" in seen
    assert HOSTILE not in seen


def test_a_form_that_is_new_has_nothing_to_find_fault_with() -> None:
    seen = page("/rules/new/", Role.OPERATOR)

    assert 'hx-trigger="input delay:400ms"' in seen
    assert "While you write" in seen
    assert "errorlist" not in seen


def test_a_rule_is_named_before_its_conditions() -> None:
    seen = page("/rules/new/", Role.OPERATOR)

    places = [seen.index(mark) for mark in ('id="meaning"', 'name="rule"', 'name="title"', 'name="t0-metric"')]
    assert places == sorted(places)
    assert seen.index('name="t0-critical"') < seen.index('name="hold"')
    assert seen.count('name="title"') == 1


def test_the_name_of_a_rule_that_has_one_is_not_asked_for() -> None:
    rule()

    seen = page("/rules/memory/", Role.OPERATOR)

    assert 'name="rule"' not in seen
    assert seen.index('name="title"') < seen.index('name="t0-metric"')


def test_a_rule_begun_at_a_chart_knows_its_metric_and_cache() -> None:
    seen = page(f"/rules/new/?metric=used_memory&cache={HOSTILE}", Role.OPERATOR)

    assert 'name="t0-metric" value="used_memory"' in seen
    assert 'value="&lt;script&gt;' in seen
    assert HOSTILE not in seen


def test_an_operator_adds_a_rule_by_form() -> None:
    status, _seen = post("/rules/new/", **GIVEN)

    made = Rule.objects.get()
    assert (status, made.key, made.origin, made.spec.hold) == (302, "mine", Rule.Origin.PERSON, 300)
    assert (made.spec.terms[0].warning, made.spec.terms[0].critical) == (0.8, 0.9)
    assert AuditEntry.objects.get(action="rule.add").target == "mine"


def test_the_form_offers_the_metrics_that_there_are() -> None:
    seen = page("/rules/new/", Role.OPERATOR)

    assert '<option value="down">' in seen
    assert '<option value="used_memory">' in seen


def test_a_form_says_all_that_a_rule_can() -> None:
    more = {
        "labels": "team=game",
        "labels_of_caches": "env=prod",
        "calm": "restart=5m",
        "gates": ["keeps"],
        "cache": "game-*",
        "no_data": "alert",
        "judged": "cache",
        "keep_firing": "2m",
        "t1-metric": "used_memory",
        "t1-value": "5",
        "join": "any",
        "why": "Because",
    }

    post("/rules/new/", **GIVEN | more)

    spec = Rule.objects.get().spec
    assert (dict(spec.labels), dict(spec.calm), spec.gates) == ({"team": "game"}, {"restart": 300}, ("keeps",))
    assert (spec.where.cache, dict(spec.where.labels), spec.keep) == ("game-*", {"env": "prod"}, 120)
    assert (len(spec.terms), spec.terms[1].guard, spec.join, spec.per) == (2, 5.0, "any", "cache")
    assert spec.why == "Because"


@pytest.mark.parametrize("key", [spec.key for spec in pack.specs()])
def test_the_form_of_every_rule_of_the_pack_saves_what_it_shows(key: str) -> None:
    pack.install()
    before = Rule.objects.get(key=key)
    shown = client_of(Role.OPERATOR).get(f"/rules/{key}/").context["page"]
    given = {"revision": "1"} | {field.html_name: field.value() or "" for field in shown.form}
    for term in shown.terms:
        given |= {field.html_name: field.value() if field.value() is not None else "" for field in term}

    status, _seen = post(f"/rules/{key}/save/", **given)

    after = Rule.objects.get(key=key)
    assert (status, after.text, after.revision) == (302, before.text, 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rule": "Not a key"}, "small letters"),
        ({"t0-metric": "no_such_metric"}, "no_such_metric"),
        ({"t0-warning": "much"}, "must be a number"),
        ({"t0-warning": "30 apples"}, "such as 0.3 or 30%"),
        ({"t0-critical": "0.1"}, "further out"),
        ({"hold": "soon"}, "such as 90s"),
        ({"t0-read": "avg"}, "needs a time"),
        ({"calm": "restart=soon"}, "such as 90s"),
        ({"shard": "first"}, "must be a number"),
        ({"gates": ["nonsense"]}, "nonsense"),
        ({"t0-metric": ""}, "Name a metric"),
        ({"t1-warning": "5", "t1-metric": ""}, "Name a metric"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_place(changes: dict[str, Any], words: str) -> None:
    status, seen = post("/rules/new/", **GIVEN | changes)

    assert status == 400
    assert words in seen
    assert not Rule.objects.exists()


def test_what_is_wrong_is_said_once_and_at_its_field() -> None:
    _status, seen = post("/rules/new/", **GIVEN | {"t0-warning": "much", "hold": "soon"})

    assert seen.count("such as 0.3 or 30%") == 1
    assert seen.count("such as 90s") == 1
    assert "Give a “warning”" not in seen
    assert "Not saved: see what is marked below." in seen
    assert "when.1.warning" not in seen
    assert 'hx-trigger="input delay:400ms"' in seen


def conditions(seen: str) -> tuple[int, int]:
    """Return how many conditions a form shows, and how many are folded up."""
    shown, _mark, folded = seen.partition('<details class="spare-term')
    return shown.count(">Condition "), folded.count(">Condition ")


def test_a_form_shows_the_conditions_that_say_something_and_folds_up_the_rest() -> None:
    assert conditions(page("/rules/new/", Role.OPERATOR)) == (1, 3)
    assert conditions(post("/rules/new/", **GIVEN | {"hold": "soon"})[1]) == (1, 3)
    assert conditions(post("/rules/new/", **GIVEN | {"hold": "soon", "t3-metric": "used_memory"})[1]) == (2, 2)


def test_a_condition_that_follows_an_empty_one_is_the_second_and_shows_its_own_mistake() -> None:
    more = {"t1-metric": "", "t2-metric": "used_memory", "t2-warning": "30%"}

    status, seen = post("/rules/new/", **GIVEN | more)

    assert status == 400
    assert "Condition 2, Warning bound" in post("/rules/new/meaning/", **GIVEN | more)[1]
    assert re.search(r'name="t2-warning" value="30%"[^>]*>.*?such as 1.5 GiB', seen, re.DOTALL)


def test_all_conditions_of_a_rule_are_kept_however_many_there_are() -> None:
    terms = [{"metric": "used_memory", "warning": number} for number in range(1, 7)]
    shown = rule("mine", when={"any": terms})
    given = {"title": "Six", "join": "any", "revision": "1"}
    for index, term in enumerate(terms):
        given |= {f"t{index}-{name}": str(value) for name, value in term.items()}

    assert conditions(page("/rules/mine/", Role.OPERATOR)) == (6, 0)
    assert post("/rules/mine/save/", **given)[0] == 302
    assert [term.warning for term in Rule.objects.get().spec.terms] == [1, 2, 3, 4, 5, 6]
    assert shown.title != Rule.objects.get().title


def test_amounts_are_written_as_people_say_them() -> None:
    given = GIVEN | {"t0-metric": "used_memory", "t0-warning": "1.5 GiB", "t0-critical": "2 GiB"}

    assert "is above 1.5 GiB (warning) or above 2 GiB (critical)" in post("/rules/new/meaning/", **given)[1]
    assert "is above 30% (warning)" in post("/rules/new/meaning/", **GIVEN | {"t0-warning": "30%"})[1]
    assert post("/rules/new/", **GIVEN | {"t0-warning": "30%"})[0] == 302
    assert Rule.objects.get().spec.terms[0].warning == 0.3


@pytest.mark.parametrize("field", ["over", "level", "warning", "value", "across", "no_data", "shard", "node"])
def test_fields_that_need_it_are_explained(field: str) -> None:
    seen = page("/rules/new/", Role.OPERATOR)

    assert re.search(rf'<div class="form-hint" id="id_(t0-)?{field}_helptext">[A-Z10][^<]{{15,}}</div>', seen)


def test_a_name_is_taken_once() -> None:
    rule("mine")

    status, seen = post("/rules/new/", **GIVEN)

    assert (status, Rule.objects.count()) == (400, 1)
    assert "a rule of this name already" in seen


def test_two_people_do_not_overwrite_each_other() -> None:
    made = rule("mine")
    post("/rules/mine/save/", **GIVEN | {"revision": "1", "hold": "1m"})

    status, seen = post("/rules/mine/save/", **GIVEN | {"revision": "1", "hold": "9m"})

    made = Rule.objects.get()
    assert (status, made.spec.hold, made.revision) == (409, 60, 2)
    assert "changed this rule meanwhile" in seen


@pytest.mark.parametrize(
    "revision", ["", "²", "9" * 5_000, "-1", "x"], ids=["none", "square", "huge", "negative", "word"]
)
def test_a_revision_that_is_none_overwrites_nothing(revision: str) -> None:
    rule("mine")

    status, _seen = post("/rules/mine/save/", **GIVEN | {"revision": revision, "hold": "9m"})

    assert (status, Rule.objects.get().revision) == (409, 1)


def test_the_same_rule_can_be_written_as_yaml() -> None:
    made = rule("mine")
    assert "metric: memory_used_ratio" in page("/rules/mine/?yaml")

    status, _seen = post("/rules/mine/save/", revision="1", yaml=as_yaml(made.text | {"for": "7m"}))

    assert (status, Rule.objects.get().spec.hold) == (302, 420)


def test_a_new_rule_as_yaml_begins_with_an_example_that_can_be_saved() -> None:
    seen = client_of(Role.OPERATOR).get("/rules/new/?yaml").context["yaml"]

    assert post("/rules/new/", yaml=seen)[0] == 302
    assert Rule.objects.get().spec.terms[0].critical == 0.9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "This is not YAML"),
        ("a: &x [1]\nb: *x", "References"),
        ("- 1", "must be a mapping"),
        ("rule: mine\nwhen: 5", "must be a mapping"),
        ("rule: other\nwhen: {metric: used_memory, warning: 5}", "keeps its name"),
        ("!!python/object/apply:os.system [ls]", "This is not YAML"),
        ("x" * 100_001, "too long"),
        ("[" * 3000, "This is not YAML"),
    ],
)
def test_yaml_that_cannot_be_kept_is_refused_with_the_reason(text: str, words: str) -> None:
    rule("mine")

    status, seen = post("/rules/mine/save/", revision="1", yaml=text)

    assert status == 400
    assert words in seen
    assert Rule.objects.get().revision == 1


def test_it_says_what_is_typed_means() -> None:
    status, seen = post("/rules/new/meaning/", **GIVEN)

    assert status == 200
    assert "Fires where, for 5 min, memory_used_ratio is above 80%" in seen
    assert "must be a number" in post("/rules/new/meaning/", **GIVEN | {"t0-warning": "x"})[1]
    assert not Rule.objects.exists()


def test_a_rule_is_switched_off_and_its_alerts_end() -> None:
    watched = firing(0.95)

    post("/rules/memory/switch/", on="0")
    watched.poll(0.95)

    assert not Rule.objects.get().is_enabled
    assert Alert.objects.get().state == "resolved"
    assert AuditEntry.objects.filter(action="rule.disable").count() == 1


def test_a_rule_of_ones_own_is_deleted_one_of_the_pack_is_not() -> None:
    pack.install()
    rule("mine")

    post("/rules/mine/delete/")
    post("/rules/node-down/delete/")

    assert not Rule.objects.filter(key="mine").exists()
    assert Rule.objects.filter(key="node-down").exists()


@pytest.mark.parametrize("act", ["save", "switch", "delete", "meaning"])
def test_viewers_only_look(act: str) -> None:
    rule("mine")

    assert post(f"/rules/mine/{act}/", Role.VIEWER, **GIVEN)[0] == 403
    assert "Switch off" not in page()
    assert "My memory" not in page("/rules/mine/")


def test_a_rule_that_is_not_there_is_not_found() -> None:
    assert client_of().get("/rules/nothing/").status_code == 404


def test_without_rules_it_says_what_to_do() -> None:
    assert "There are no rules" in page()


def test_a_broken_rule_can_be_opened_and_mended() -> None:
    Rule.objects.create(key="mine", text={"rule": "mine", "when": [1]})

    assert "cannot be read" in page("/rules/mine/")
    assert post("/rules/mine/save/", **GIVEN | {"revision": "1"})[0] == 302


def test_it_asks_the_database_the_same_however_many_rules_there_are(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    pack.install()
    client = client_of(Role.OPERATOR)

    with django_assert_max_num_queries(8):
        client.get("/rules/")


def test_a_rule_is_tried_before_it_is_saved() -> None:
    fleet().poll(0.5)

    status, seen = post("/rules/new/try/", **GIVEN)

    assert (status, Rule.objects.exists()) == (200, False)
    assert "Nothing is known of the last days" in seen
    assert "It would have told of nothing." not in seen


def test_what_would_have_told_of_nothing_says_of_how_much_time() -> None:
    rolled(fleet().cache.nodes.get(), "1" * 12)

    seen = post("/rules/new/try/", **GIVEN)[1]

    assert "0 pages. Too little of the time is known to tell how many a week." in seen
    assert "by steps of 5 min" in seen
    assert "There are samples of 1 h." in seen
    assert "It would have told of nothing." in seen


def test_an_edit_is_tried_beside_the_rule_as_it_is() -> None:
    fleet().poll(0.5)
    rule("mine", title="My memory", **{"for": "5m"})

    assert "With your changes" not in post("/rules/mine/try/", **GIVEN)[1]

    seen = post("/rules/mine/try/", **GIVEN | {"t0-warning": "0.1"})[1]
    assert ("As it is kept" in seen, "With your changes" in seen) == (True, True)


def test_what_cannot_be_read_is_not_tried_but_named() -> None:
    status, seen = post("/rules/new/try/", **GIVEN | {"t0-metric": HOSTILE})

    assert (status, "There is no metric" in seen, HOSTILE in seen) == (200, True, False)


def test_a_rule_as_yaml_is_tried_too() -> None:
    fleet().poll(0.5)

    assert "Nothing is known of the last days" in post("/rules/new/try/", yaml=as_yaml(rule().text))[1]


def test_what_would_have_fired_is_listed_with_its_place_and_time() -> None:
    cache = fleet().cache
    rolled(cache.nodes.get(), "119999999911")

    seen = post("/rules/new/try/", **GIVEN)[1]

    assert "1 page. Too little of the time is known" in seen
    assert "There are samples of 1 h." in seen
    assert "game shard 1, 127.0.0.1:7010" in seen
    assert 'class="trial-critical"' in seen or 'class="trial-warning"' in seen


def test_the_form_offers_the_trial_to_those_who_may_change_rules() -> None:
    rule("mine")

    assert "/rules/mine/try/" in page("/rules/mine/", Role.OPERATOR)
    assert "/rules/mine/try/" not in page("/rules/mine/")
