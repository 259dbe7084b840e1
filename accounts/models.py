"""People, their API tokens, and what they did."""

import hashlib
import secrets
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

TOKEN_PREFIX = "sw_"  # noqa: S105 - how tokens begin, no secret
# Stands in the audit for whoever has a shell here; no user name may hold the slash.
COMMAND_LINE = "bin/manage"
# Writing last_used_at on every call would cost a row version a request.
LAST_USED_STEP = timedelta(minutes=1)


class Role(models.TextChoices):
    VIEWER = "viewer", _("viewer")
    OPERATOR = "operator", _("operator")
    ADMIN = "admin", _("admin")


RANK = {Role.VIEWER: 0, Role.OPERATOR: 1, Role.ADMIN: 2}


class User(AbstractUser):
    """Someone who signs in. A viewer reads; an operator acts on caches; an admin manages people and channels."""

    role = models.CharField(_("role"), max_length=8, choices=Role.choices, default=Role.VIEWER)
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True)

    def has_role(self, role: str) -> bool:
        """Return whether this user may do what `role` may."""
        return self.is_active and RANK[Role(self.role)] >= RANK[Role(role)]

    @property
    def is_operator(self) -> bool:
        return self.has_role(Role.OPERATOR)

    @property
    def is_admin(self) -> bool:
        return self.has_role(Role.ADMIN)


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self) -> Self:
        return self.filter(models.Q(expires_at=None) | models.Q(expires_at__gt=timezone.now()), revoked_at=None)


class ApiToken(models.Model):
    """A key for the API that acts as its user. Only a hash is kept; the text is shown once."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(_("name"), max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @staticmethod
    def digest_of(text: str) -> str:
        # 256 random bits need no salt and no slow hash.
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def issue(cls, user: User, name: str) -> tuple["ApiToken", str]:
        """Return a new token and its text, which cannot be had again."""
        text = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = cls.objects.create(user=user, name=name, digest=cls.digest_of(text), hint=text[:8])
        return token, text

    @classmethod
    def user_of(cls, text: str) -> User | None:
        """Return the active user that the text belongs to, noting the use; None where there is none."""
        token = cls.objects.usable().select_related("user").filter(digest=cls.digest_of(text)).first()
        if token is None or not token.user.is_active:
            return None
        now = timezone.now()
        if token.last_used_at is None or now - token.last_used_at > LAST_USED_STEP:
            cls.objects.filter(pk=token.pk).update(last_used_at=now)
        user: User = token.user
        return user


class AuditEntry(models.Model):
    """Something that a person or a token did. Rows are only ever added."""

    at = models.DateTimeField(default=timezone.now, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # Kept beside the user, who may be deleted.
    username = models.CharField(max_length=150)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ("-at",)
        # The audit page lists the newest first.
        indexes = (models.Index(fields=("-at",), name="audit_newest"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.username} {self.action} {self.target}"

    @classmethod
    def record(cls, user: User | None, action: str, target: str = "", **detail: object) -> "AuditEntry":
        """Add an entry; without a user it came from a shell. `detail` must hold no secret."""
        username = user.username if user else COMMAND_LINE
        return cls.objects.create(user=user, username=username, action=action, target=target, detail=detail)
