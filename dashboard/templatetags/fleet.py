"""Rows of the fleet page. Hundreds are drawn at once: texts are made here, and the template only places them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.templatetags.pictures import bar, sparkline
from dashboard.templatetags.units import ago, bytes_size, grouped, percent, rate

if TYPE_CHECKING:
    from collectors.latest import CacheLatest
    from dashboard.overview import Row

register = template.Library()
# What discovery adds says where a cache is; a row has room for few labels, and people's own tell more.
LABELS_SHOWN, OF_DISCOVERY = 3, ("product=", "project=", "region=")
# Set once for the page by the template that holds the rows.
WORDS = ("word_memory", "word_connections", "word_commands", "word_hits", "word_evictions", "word_replication")


@register.inclusion_tag("dashboard/_fleet_row.html", takes_context=True)
def fleet_row(context: Context, row: Row) -> dict[str, Any]:
    """Draw one cache. The template gets plain texts in a context of its own, where lookups are short."""
    given = {name: context[name] for name in (*WORDS, "word_sample")}
    given |= {"pk": row.cache.pk, "name": row.cache.name, "url": row.cache.get_absolute_url(), "shape": row.shape}
    given |= {"health": row.health, "health_word": row.health_word, "reason": row.reason}
    labels = sorted(row.labels, key=lambda label: label.startswith(OF_DISCOVERY))
    shown = labels[:LABELS_SHOWN] if len(labels) > LABELS_SHOWN + 1 else labels
    given["labels"] = [(label, f"{context['fleet_url']}?{urlencode({'label': label})}") for label in shown]
    given["more_labels"] = labels[len(shown) :]
    seen = row.latest
    return given | (figures(row, seen) if seen and seen.at else {"words": row.no_figures})


def figures(row: Row, seen: CacheLatest) -> dict[str, Any]:
    word, tone = row.replication
    lag = seen.replication_lag_bytes if row.replicas != 0 else None
    return {
        "memory": cell(
            bytes_size(seen.used_memory),
            bar(seen.memory_used_ratio, row.alarms_about_memory),
            sparkline(seen.spark_used_memory),
            note=of_limit(bytes_size(seen.memory_limit_bytes)) if seen.memory_limit_bytes else row.no_limit,
        ),
        "cpu": cell(percent(seen.cpu_ratio, row.no_rate), sparkline(seen.spark_cpu_ratio)),
        "connections": cell(
            grouped(seen.fullest_connected_clients),
            bar(seen.connections_used_ratio, row.alarms_about_connections),
            sparkline(seen.spark_connected_clients),
            note=of_limit(grouped(seen.fullest_maxclients)) if seen.fullest_maxclients else "",
        ),
        "commands": cell(rate(seen.commands_per_second, row.no_rate), sparkline(seen.spark_commands_per_second)),
        "hits": cell(percent(seen.hit_ratio, row.no_hits), sparkline(seen.spark_hit_ratio)),
        "evictions": cell(
            rate(seen.evicted_keys_per_second, row.no_rate), sparkline(seen.spark_evicted_keys_per_second)
        ),
        "replication": word,
        "replication_tone": {"critical": "state state-critical", "none": "soft"}.get(tone, ""),
        "lag": _("%(lag)s behind") % {"lag": bytes_size(lag)} if lag else "",
        "age": ago(seen.at),
    }


def of_limit(limit: str) -> str:
    return _("of %(limit)s") % {"limit": limit}


def cell(figure: str, *pictures: SafeString, note: str = "") -> SafeString:
    """Return a figure with what it is measured against, its bar and its line."""
    beside = format_html('<span class="soft">{}</span>', note) if note else ""
    return format_html('<span class="cell-line"><b>{}</b>{}</span>{}', figure, beside, SafeString("".join(pictures)))
