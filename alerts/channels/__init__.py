"""All kinds of channels. A new one is a file here and a line below."""

from alerts.channel import ChannelKind
from alerts.channels.pagerduty import PagerDuty

KINDS: dict[str, ChannelKind] = {kind.name: kind for kind in (PagerDuty(),)}


def kind_of(name: str) -> ChannelKind:
    return KINDS[name]
