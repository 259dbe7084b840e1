"""Who can get at a cache: AUTH and TLS."""

from __future__ import annotations

from django.utils.translation import gettext as _

from collectors.cloud.products import Product
from dashboard.readiness.inputs import Inputs, Measured
from dashboard.readiness.verdict import Mark, Verdict, none, unknown


def auth(inputs: Inputs) -> Verdict:
    if inputs.product == Product.MEMCACHED:
        return none(_("Memorystore for Memcached has no AUTH."))
    return on_or_off(
        inputs.has_auth,
        _("Nobody gets in without a password or a token."),
        _("Turn AUTH (or IAM) on: whoever reaches the address reads and deletes everything."),
    )


def tls(inputs: Inputs) -> Verdict:
    if inputs.product == Product.MEMCACHED:
        return none(_("Memorystore for Memcached has no TLS."))
    return on_or_off(
        inputs.has_tls,
        _("What crosses the network is encrypted."),
        _("Data and passwords cross the network in clear text. Most products take TLS only when they are made anew."),
    )


def on_or_off(claim: Measured | None, fine: str, wrong: str) -> Verdict:
    limit = _("on")
    if claim is None:
        return unknown(_("Neither Google's API nor the address tells."), limit)
    if claim.value:
        return Verdict(Mark.READY, _("on"), limit, fine, (claim,))
    return Verdict(Mark.NOT_READY, _("off"), limit, wrong, (claim,))
