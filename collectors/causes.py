"""Likely causes of failures, and a sentence for each: stored as cause and words, told in the reader's language."""

from enum import StrEnum, auto

from django.utils import translation
from django.utils.translation import gettext_lazy as _

SENTENCE_LIMIT = 300


class Cause(StrEnum):
    """The likely cause of a failure. Values are stored: add to them, never change one."""

    BAD_ADDRESS = auto()
    SECRET_UNREADABLE = auto()
    UNKNOWN_HOST = auto()
    RESOLVE_SLOW = auto()
    REFUSED = auto()
    UNREACHABLE = auto()
    CONNECT_SLOW = auto()
    MAX_CLIENTS = auto()
    PROTECTED = auto()
    TLS_FILES = auto()
    TLS_SLOW = auto()
    TLS_PLAIN_PORT = auto()
    TLS_EXPIRED = auto()
    TLS_UNKNOWN_CA = auto()
    TLS_HOST_NAME = auto()
    TLS_CERTIFICATE = auto()
    TLS_CLIENT_CERTIFICATE = auto()
    TLS_OTHER = auto()
    TLS_EXPECTED = auto()
    PASSWORD_MISSING = auto()
    PASSWORD_WRONG = auto()
    USER_OR_PASSWORD_WRONG = auto()
    PASSWORD_UNEXPECTED = auto()
    USER_UNSUPPORTED = auto()
    NO_PERMISSION = auto()
    LOADING = auto()
    PRIMARY_DOWN = auto()
    IS_PRIMARY = auto()
    BUSY = auto()
    SILENT = auto()
    CUT = auto()
    TOO_LONG = auto()
    GARBAGE = auto()
    NOT_INFO = auto()
    HTTP = auto()
    MEMCACHED = auto()
    SENTINEL = auto()
    NO_LAYOUT = auto()
    ERROR_REPLY = auto()
    TOKEN_MISSING = auto()
    TOKEN_REFUSED = auto()
    TOKEN_AWAY = auto()
    NOT_MEMCACHED = auto()
    NOT_STATS = auto()
    NO_NODE_LIST = auto()
    SASL_EXPECTED = auto()
    MAX_CONNS = auto()
    BINARY_EXPECTED = auto()


SENTENCES = {
    Cause.BAD_ADDRESS: _("The address cannot be read: %(words)s"),
    Cause.SECRET_UNREADABLE: _(
        "A stored secret cannot be decrypted. Put the old key back into SHARDWATCH_ENCRYPTION_KEYS,"
        " or enter the password again."
    ),
    Cause.UNKNOWN_HOST: _("The host name is not known. Check its spelling, and that DNS here knows it."),
    Cause.RESOLVE_SLOW: _("DNS did not answer in time. Check the name server, or use an IP address."),
    Cause.REFUSED: _("Nothing listens on this port. Check the port, and that the server runs."),
    Cause.UNREACHABLE: _("There is no way to this address: %(words)s. Check the address and the route."),
    Cause.CONNECT_SLOW: _(
        "The connection attempt got no answer. Likely causes: a firewall, a wrong address, or a stopped or"
        " overloaded server."
    ),
    Cause.MAX_CLIENTS: _("The server accepts no more connections: it has reached maxclients."),
    Cause.PROTECTED: _("The server is in protected mode and talks to its own machine only. Give it a password."),
    Cause.TLS_FILES: _("The CA bundle, client certificate or client key cannot be used: %(words)s"),
    Cause.TLS_SLOW: _(
        "The TLS handshake got no answer. The port probably speaks no TLS: use redis:// or memcached://, or the TLS"
        " port."
    ),
    Cause.TLS_PLAIN_PORT: _(
        "The port speaks no TLS: use redis:// instead of rediss:// (memcached:// instead of memcacheds://), or the TLS"
        " port."
    ),
    Cause.TLS_EXPIRED: _("The server's certificate has expired. Renew it, and check the clock here."),
    Cause.TLS_UNKNOWN_CA: _("The server's certificate comes from an unknown authority. Give its CA bundle."),
    Cause.TLS_HOST_NAME: _(
        "The server's certificate names another host. Use the host name that it names, or turn the check of"
        " the host name off."
    ),
    Cause.TLS_CERTIFICATE: _("The server's certificate was not accepted: %(words)s"),
    Cause.TLS_CLIENT_CERTIFICATE: _("The server wants a client certificate, or does not accept the one given."),
    Cause.TLS_OTHER: _("The TLS handshake failed: %(words)s"),
    Cause.TLS_EXPECTED: _(
        "The server closed the connection at once. It probably expects TLS: use rediss:// or memcacheds://."
    ),
    Cause.PASSWORD_MISSING: _("The server wants a password, and perhaps a user."),
    Cause.PASSWORD_WRONG: _("The password is wrong, or the server wants a user as well."),
    Cause.USER_OR_PASSWORD_WRONG: _("The user or the password is wrong, or the user is turned off."),
    Cause.PASSWORD_UNEXPECTED: _("The server has no password, but one was given. Leave it empty."),
    Cause.USER_UNSUPPORTED: _("The server is too old for users: leave the user empty, give the password alone."),
    Cause.NO_PERMISSION: _("The user may not run this command: %(words)s"),
    Cause.LOADING: _("The server is loading its data and answers nothing yet."),
    Cause.PRIMARY_DOWN: _("The replica has lost its primary and is set to answer nothing."),
    Cause.IS_PRIMARY: _("The replica is a primary by now, which this scan may not read. It waits for another replica."),
    Cause.BUSY: _("The server is busy with a script that does not end."),
    Cause.SILENT: _(
        "The server accepts connections but does not answer. It may be stopped or stuck in a slow command."
    ),
    Cause.CUT: _("The server closed the connection in the middle of its answer."),
    Cause.TOO_LONG: _("The answer is too long. Another kind of server may listen there."),
    Cause.GARBAGE: _(
        "The answer is not in the protocol that the address names. Another kind of server listens there: %(words)s"
    ),
    Cause.NOT_INFO: _("The server answered INFO with something else. It may be a proxy or another kind of server."),
    Cause.HTTP: _("A web server listens there. Check the port."),
    Cause.MEMCACHED: _(
        "Memcached listens there. Begin the address with memcached:// (memcacheds:// with TLS), or with"
        " memcached+discovery:// for a discovery endpoint."
    ),
    Cause.SENTINEL: _("This is a Sentinel, which holds no data. Give the address of the server that it watches."),
    Cause.NO_LAYOUT: _(
        "The server is part of a cluster but does not tell its layout: %(words)s. Let the user run CLUSTER SHARDS."
    ),
    Cause.ERROR_REPLY: _("The server answered with an error: %(words)s"),
    Cause.TOKEN_MISSING: _(
        "Google gave no access token: %(words)s. Check the credentials of the cache's project, and the clock here."
    ),
    Cause.TOKEN_AWAY: _(
        "Google cannot be reached from here for an access token. Check DNS, the route, the proxy and the firewall (port"
        " 443 of *.googleapis.com). It is tried again."
    ),
    Cause.TOKEN_REFUSED: _(
        "The server did not accept the access token of Google IAM. Grant the account roles/redis.dbConnectionUser"
        " (Valkey: roles/memorystore.dbConnectionUser), and check that the cache uses IAM authentication."
    ),
    Cause.NOT_MEMCACHED: _("Redis or Valkey listens there. Begin the address with redis://, or rediss:// with TLS."),
    Cause.NOT_STATS: _("The server answered stats with something else. It may be a proxy or another kind of server."),
    Cause.NO_NODE_LIST: _(
        "The discovery endpoint told no list of nodes: %(words)s. Nodes known before are watched on. If this is a node,"
        " begin its address with memcached://."
    ),
    Cause.SASL_EXPECTED: _(
        "The server wants SASL, which needs the binary protocol; Shardwatch reads over the text protocol. Start"
        " Memcached without -S; with -Y FILE it asks for a login over the text protocol."
    ),
    Cause.MAX_CONNS: _("The server accepts no more connections: it has reached its limit (maxconns, -c)."),
    Cause.BINARY_EXPECTED: _(
        "The server speaks Memcached's binary protocol only; Shardwatch reads over the text protocol. Start Memcached"
        " without -B binary."
    ),
}


def sentence_of(cause: str, words: str) -> str:
    """Return what failed, the likely cause and what to do, in the active language; "" without a cause."""
    # A cause that an older or newer version stored.
    sentence = SENTENCES.get(cause)  # type: ignore[call-overload]
    return str(sentence) % {"words": words} if sentence else words


def english_of(cause: str, words: str) -> str:
    """Return the sentence in English, short enough to be stored or compared."""
    with translation.override("en"):
        return sentence_of(cause, words)[:SENTENCE_LIMIT]
