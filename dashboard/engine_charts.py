"""Which charts the page of a cache has: those that its servers can fill."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from dashboard.charts import CHARTS, Chart, Line
from fleet.engines import abilities_of

# Of servers that keep their memory in classes of chunks.
SLAB_CHARTS: tuple[Chart, ...] = (
    Chart(
        "slabs",
        _("Memory of the classes of chunks"),
        "bytes",
        (
            Line("total_malloced", "sum", _("given to classes"), "main"),
            Line("slabs_used_bytes", "sum", _("chunks in use")),
            Line("slabs_mem_requested", "sum", _("needed by items")),
        ),
        (("total_malloced", _("given to classes")), ("slabs_mem_requested", _("needed by items"))),
        about=_(
            "Memory is given to classes of chunks by their size; what an item does not fill of its chunk is padding."
        ),
    ),
    Chart(
        "item-ages",
        _("Age of items"),
        "seconds",
        (
            Line("items_age", "max", _("oldest item")),
            Line("items_age_worst_slab", "min", _("class with the fastest turnover"), "main"),
            Line("items_evicted_time", "min", _("last evicted, since its last use")),
        ),
        (("items_age", _("oldest item")), ("items_age_worst_slab", _("class with the fastest turnover"))),
        about=_("How long items stay. Where one class turns over much faster than the others, it lacks memory."),
    ),
    Chart(
        "unread",
        _("Items evicted or expired unread"),
        "count/s",
        (
            Line("evicted_unfetched", "sum", _("evicted unread"), "main"),
            Line("expired_unfetched", "sum", _("expired unread")),
        ),
        (("evicted_unfetched", _("evicted unread")), ("expired_unfetched", _("expired unread"))),
        about=_("Items that nobody read before they went: they took the place of others."),
    ),
)


def charts_of(engine: str) -> list[Chart]:
    """Return the charts of a kind of servers, without the lines that these never report."""
    own = SLAB_CHARTS if abilities_of(engine).slabs else ()
    return [chart for one in (*CHARTS, *own) if (chart := one.of_engine(engine)).by_node]
