"""Keys of applications: they read switches and report, and can do nothing else."""

import hashlib
import re
import secrets
from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

CLIENT_KEY_PREFIX = "swc_"
# What a scope may hold: keys of switches, with * for any run of characters.
PATTERN = re.compile(r"[a-z0-9.*-]{1,100}")


def digest_of(text: str) -> str:
    # 256 random bits need no salt and no slow hash.
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


class ClientKeyQuerySet(models.QuerySet["ClientKey"]):
    def valid(self) -> Self:
        return self.filter(revoked_at=None)


class ClientKey(models.Model):
    """One key of one application. Only a hash is kept; the text is shown once."""

    # What uses it. Two keys of one name are valid at once, so that one can take the other's place.
    name = models.CharField(_("application"), max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False)
    # The keys of switches that it reads, such as user-cache or shop.*; none is all.
    scope = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.CharField(max_length=150)
    # To the minute.
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True)

    objects = ClientKeyQuerySet.as_manager()

    class Meta:
        ordering = ("name", "-created_at")

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @classmethod
    def issue(cls, name: str, scope: list[str], by: str) -> tuple["ClientKey", str]:
        """Return a new key and its text, which cannot be had again."""
        text = CLIENT_KEY_PREFIX + secrets.token_urlsafe(32)
        key = cls.objects.create(name=name, scope=scope, created_by=by, digest=digest_of(text), hint=text[:9])
        return key, text
