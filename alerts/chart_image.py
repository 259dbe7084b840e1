"""The picture of an incident as an image for mails, and in words for those who see none."""

import logging
from datetime import datetime

from django.utils import timezone, translation
from django.utils.translation import gettext as _

from alerts import incident_chart
from alerts.channel import Chart
from alerts.incident_chart import HEIGHT, WIDTH, Picture
from alerts.models import Incident
from alerts.png import Canvas

logger = logging.getLogger(__name__)
# Twice the size at which it is shown: fine on screens with small pixels.
SCALE = 2
PALETTE = ((255, 255, 255), (230, 234, 240), (28, 100, 190), (192, 57, 43), (120, 130, 145))
GRID, LINE, BOUND, MARK = 1, 2, 3, 4
DASH = 16


def of(incident: Incident, language: str) -> Chart | None:
    """Return the chart of what an incident is about; None where nothing was measured, or drawing it failed."""
    try:
        alerts = list(incident.alerts.select_related("rule", "cache", "node").order_by("began_at", "pk"))
        with translation.override(language):
            picture = incident_chart.of(incident, alerts, timezone.now())
            return Chart(png(picture), words(picture)) if picture else None
    # Without its chart a message is as true; without the message nobody hears of it.
    except Exception:
        logger.exception("The chart of incident %d could not be drawn.", incident.pk)
        return None


def png(picture: Picture) -> bytes:
    """Return the line against its dashed bound, with an upright line where the incident began and ended."""
    canvas = Canvas(WIDTH * SCALE, HEIGHT * SCALE, PALETTE)
    for quarter in range(1, 4):
        canvas.fill(0, HEIGHT * SCALE * quarter / 4, canvas.width, HEIGHT * SCALE * quarter / 4, GRID)
    for x in (picture.opened_x, picture.closed_x):
        if x is not None:
            canvas.fill(x * SCALE - 1, 0, x * SCALE + 1, canvas.height, MARK)
    if picture.bound_y is not None:
        for left in range(0, canvas.width, 2 * DASH):
            canvas.fill(left, picture.bound_y * SCALE - 1, left + DASH, picture.bound_y * SCALE + 1, BOUND)
    draw_line(canvas, picture)
    return canvas.png()


def draw_line(canvas: Canvas, picture: Picture) -> None:
    step = WIDTH * SCALE / max(len(picture.heights) - 1, 1)
    before: tuple[float, float] | None = None
    for position, height in enumerate(picture.heights):
        here = None if height is None else (position * step, height * SCALE)
        if here:
            canvas.line(before or here, here, 2 * SCALE, LINE)
        before = here


def words(picture: Picture) -> str:
    """Return what the image shows, in a sentence."""
    given = {"title": picture.title, "about": picture.about, "low": picture.lowest, "high": picture.highest}
    given |= {"start": clock(picture.start), "end": clock(picture.end), "bound": picture.bound}
    if picture.bound:
        return _("%(title)s (%(about)s), %(start)s to %(end)s: from %(low)s to %(high)s, bound %(bound)s") % given
    return _("%(title)s (%(about)s), %(start)s to %(end)s: from %(low)s to %(high)s") % given


def clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
