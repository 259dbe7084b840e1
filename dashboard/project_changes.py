"""Trying out a project and deciding on what was found, with the audit: what the pages and the API do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from collectors.cloud import approval, permissions, projects
from collectors.cloud.adoption import same_elsewhere
from collectors.cloud.errors import CloudCause
from collectors.cloud.models import CloudInstance, CloudProject
from fleet.models import Cache, Reach

# What the buttons of the page say.
ADD, ADD_SERVICE, IGNORE = "add", "add-service", "ignore"


@dataclass(frozen=True, slots=True)
class Trial:
    """How the APIs answered, and the commands that grant what is missing."""

    checks: list[permissions.Check]
    commands: list[str]
    account: str

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


@dataclass(slots=True)
class Outcome:
    """What became of decisions."""

    done: int = 0
    refusals: list[str] = field(default_factory=list)


def try_out(stored: CloudProject | None, given: Mapping[str, Any]) -> Trial:
    """Ask every API as the project would be with the given fields, saving nothing. Raise ValidationError."""
    project = projects.drafted(stored or CloudProject(project_id=given.get("project_id", "")), given)
    # Kept clients belong to the stored project.
    project.pk = None
    checks = permissions.test(project)
    # Without credentials nobody asked, and to look for them again takes seconds.
    nobody = {CloudCause.NO_CREDENTIALS, CloudCause.NO_IDENTITY}
    account = "" if any(one.error and one.error.cause in nobody for one in checks) else permissions.who_asks(project)
    return Trial(checks, permissions.missing(project, account, checks), account)


def decide(by: User, instances: Iterable[CloudInstance], what: str, now: datetime) -> Outcome:
    """Add or ignore instances; each stands by itself."""
    acts: dict[str, Callable[[CloudInstance], object]] = {
        ADD: lambda instance: approve(by, instance, "", now),
        ADD_SERVICE: lambda instance: approve(by, instance, str(Reach.SERVICE), now),
        IGNORE: lambda instance: ignore(by, instance),
    }
    outcome = Outcome()
    if what not in acts:
        outcome.refusals.append(_("There is no such decision."))
        return outcome
    for instance in instances:
        try:
            acts[what](instance)
        except ValidationError as error:
            outcome.refusals.append(f"{instance.location}: {error.messages[0]}")
        else:
            outcome.done += 1
    return outcome


def approve(by: User, instance: CloudInstance, reach: str, now: datetime) -> Cache | None:
    """Make a cache of an instance; None where that waits for its address. Raise ValidationError where it cannot."""
    if instance.cache_id:
        raise ValidationError(_("It is a cache already."))
    if instance.gone_at:
        raise ValidationError(_("It is gone."))
    other = same_elsewhere(instance)
    if other and not other.gone_at:
        message = _("The project %(project)s sees the same instance; it is decided on there.")
        raise ValidationError(message % {"project": other.project.project_id})
    cache = approval.approve(instance, now, reach)
    AuditEntry.record(by, "project.approve", instance.location, project=instance.project.project_id)
    return cache


def ignore(by: User, instance: CloudInstance) -> None:
    """Stop asking about an instance. Raise ValidationError where it is a cache."""
    if not approval.ignore(instance):
        raise ValidationError(_("It is a cache already: remove the cache, then it is ignored."))
    AuditEntry.record(by, "project.ignore", instance.location, project=instance.project.project_id)
