"""Names of what the API takes and answers: two of one name would stand in the document as one."""

from collections import Counter
from collections.abc import Iterator

from ninja import Schema

from config import urls

OURS = ("dashboard.", "config.", "fleet.", "switches.", "alerts.")


def made_from(base: type[Schema]) -> Iterator[type[Schema]]:
    for schema in base.__subclasses__():
        yield schema
        yield from made_from(schema)


def test_no_two_schemas_have_one_name() -> None:
    assert urls.urlpatterns

    names = Counter(schema.__name__ for schema in set(made_from(Schema)) if schema.__module__.startswith(OURS))

    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) > 50
