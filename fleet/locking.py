"""Rows that two requests want at once: the one that comes second finds the row as the first left it."""

from typing import TypeVar

from django.db.models import Model
from django.shortcuts import get_object_or_404

RowT = TypeVar("RowT", bound=Model)


def locked(row: RowT) -> RowT:
    """Return the row as it is now, locked to the end of the transaction.

    Raise Http404 where another request deleted it since it was read.
    """
    # Without the key: whoever only refers to the row, as polls and senders do all the time, goes on.
    return get_object_or_404(type(row)._default_manager.select_for_update(no_key=True), pk=row.pk)
