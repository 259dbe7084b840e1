"""All kinds of channels. A new one is a file here and a line below."""

from alerts.channel import ChannelKind
from alerts.channels.alertmanager import Alertmanager
from alerts.channels.apprise import Apprise
from alerts.channels.email import Email
from alerts.channels.google_chat import GoogleChat
from alerts.channels.own_json import OwnJson
from alerts.channels.pagerduty import PagerDuty
from alerts.channels.slack import Slack, SlackBot
from alerts.channels.teams import Teams
from alerts.channels.webhook import Webhook

_ALL: tuple[ChannelKind, ...] = (
    PagerDuty(),
    Slack(),
    SlackBot(),
    GoogleChat(),
    Teams(),
    Email(),
    Webhook(),
    Alertmanager(),
    OwnJson(),
    Apprise(),
)
KINDS: dict[str, ChannelKind] = {kind.name: kind for kind in _ALL}


def kind_of(name: str) -> ChannelKind:
    return KINDS[name]
