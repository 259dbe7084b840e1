"""The steps of reaching a server, in order; a failure names the one that failed."""

from enum import StrEnum

from django.utils.translation import gettext_lazy as _


class Step(StrEnum):
    """Plain, not of the database's kind: key scans from the command line run without Django's apps."""

    ADDRESS = "address"
    RESOLVE = "resolve"
    CONNECT = "connect"
    TLS = "tls"
    AUTH = "auth"
    PING = "ping"
    INFO = "info"
    LAYOUT = "layout"
    STATS = "stats"
    NODES = "nodes"
    MYSQL = "mysql"

    @property
    def label(self) -> str:
        return str(LABELS[self])


LABELS = {
    Step.ADDRESS: _("read the address"),
    Step.RESOLVE: _("resolve the host name"),
    Step.CONNECT: _("connect"),
    Step.TLS: _("TLS handshake"),
    Step.AUTH: _("AUTH"),
    Step.PING: _("PING"),
    Step.INFO: _("INFO"),
    Step.LAYOUT: _("cluster layout"),
    Step.STATS: _("stats"),
    Step.NODES: _("list of nodes"),
    Step.MYSQL: _("MySQL's settings"),
}
CHOICES = [(step.value, label) for step, label in LABELS.items()]
