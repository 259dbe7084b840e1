"""Adding, changing and removing projects, with the audit: the one road that the pages, the API and commands take."""

import re
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from collectors.cloud import adoption
from collectors.cloud.clients import forget
from collectors.cloud.identities import check_key
from collectors.cloud.models import Approve, CloudInstance, CloudProject, Credentials
from collectors.cloud.products import Product
from fleet.labels import check_labels
from fleet.registration import ConflictError, refuse_unstorable
from fleet.secrets import Secret

FIELDS = (
    "metrics_project_id",
    "credentials",
    "key",
    "products",
    "interval_seconds",
    "approve",
    "approve_labels",
    "approve_names",
    "reach",
    "is_paused",
)
ALL = [str(field.name) for field in CloudProject._meta.fields]
PATTERNS = re.compile(r"[a-z0-9*?.\[\]!_-]+(?:\s+[a-z0-9*?.\[\]!_-]+)*")


def drafted(project: CloudProject, given: Mapping[str, Any]) -> CloudProject:
    """Return a copy of the project with the given fields set, not saved. An empty key keeps the stored one.

    Raise ValidationError with a sentence per field.
    """
    refuse_unstorable(given)
    project = copy(project)
    for field in FIELDS:
        if field in given and field != "key":
            setattr(project, field, given[field])
    errors = _errors(project, str(given.get("key") or "").strip())
    try:
        project.clean_fields(exclude=[name for name in ALL if _is_settled(name, errors)])
    except ValidationError as error:
        errors.update(error.error_dict)
    if errors:
        raise ValidationError(errors)
    return project


def _is_settled(field: str, errors: Mapping[str, Any]) -> bool:
    """Return whether a field is not for the model's own validators: it is no field of people, or wrong already."""
    return field in errors or field == "key" or field not in {"project_id", *FIELDS}


def _errors(project: CloudProject, key: str) -> dict[str, Any]:
    """Check what the model's own validators cannot."""
    errors: dict[str, Any] = {}
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("key", lambda: _settle_key(project, key)),
        ("products", lambda: _check_products(project)),
        ("approve_labels", lambda: check_labels(project.approve_labels)),
        ("approve_names", lambda: _check_rule(project)),
    )
    for field, check in checks:
        try:
            check()
        except ValidationError as error:
            errors[field] = error.error_list
    return errors


def _settle_key(project: CloudProject, key: str) -> None:
    """Keep the key that belongs to the choice of credentials, and none otherwise."""
    if project.credentials != Credentials.KEY:
        if key:
            raise ValidationError(_("A key is used only with the credentials “key of a service account”."))
        project.key, project.principal = Secret(""), ""
    elif key:
        project.principal = check_key(key)
        project.key = Secret.of(key)
    elif not project.key:
        raise ValidationError(_("Paste the key of the service account, in JSON."))


def _check_products(project: CloudProject) -> None:
    chosen = project.products
    if not chosen:
        raise ValidationError(_("Choose at least one product."))
    if not set(chosen) <= set(Product.values):
        raise ValidationError(_("There is no such product."))
    project.products = [str(product) for product in Product if product in chosen]


def _check_rule(project: CloudProject) -> None:
    names = project.approve_names.strip()
    if names and not PATTERNS.fullmatch(names):
        raise ValidationError(_("Write names with * and ? in them, separated by blanks, such as shop-* stock-?."))
    if project.approve == Approve.RULE and not (names or project.approve_labels):
        raise ValidationError(_("A rule needs labels or names; without them it would fit nothing."))


def add(by: User | None, given: Mapping[str, Any]) -> CloudProject:
    """Add a project. Raise ValidationError as drafted does, ConflictError where it is there already."""
    project = drafted(CloudProject(project_id=given.get("project_id", "")), given)
    try:
        with transaction.atomic():
            project.save(force_insert=True)
            AuditEntry.record(by, "project.add", project.project_id, credentials=str(project.credentials))
    except IntegrityError as error:
        raise ConflictError({"project_id": [_("This project is here already.")]}) from error
    return project


def change(by: User | None, project: CloudProject, given: Mapping[str, Any], revision: int) -> CloudProject:
    """Save the given fields of a project that was read at `revision`; return it as it is now.

    Raise ConflictError where somebody saved it since then.
    """
    changed = drafted(project, given)
    values = {field: getattr(changed, field) for field in (*FIELDS, "principal")}
    told = sorted(field for field in FIELDS if _shown(project, field) != _shown(changed, field))
    with transaction.atomic():
        mine = CloudProject.objects.filter(pk=project.pk, revision=revision)
        # Whoever changed something wants to see what comes of it.
        if not mine.update(**values, revision=F("revision") + 1, discovered_at=None):
            message = _(
                "Somebody else changed or deleted this project meanwhile. Load it again and repeat your change."
            )
            raise ConflictError({NON_FIELD_ERRORS: [message]})
        if "reach" in told:
            # Caches that nobody touched follow at the next look.
            CloudInstance.objects.filter(project=project).update(fingerprint="")
        if told:
            AuditEntry.record(by, "project.change", project.project_id, settings=", ".join(told))
    changed.revision = revision + 1
    return changed


def _shown(project: CloudProject, field: str) -> Any:
    return project.key.stored if field == "key" else getattr(project, field)


def look_now(by: User | None, project: CloudProject) -> None:
    """Have it looked into within a few seconds."""
    CloudProject.objects.filter(pk=project.pk).update(discovered_at=None)
    AuditEntry.record(by, "project.look", project.project_id)


def delete(by: User | None, project: CloudProject) -> None:
    """Remove a project and what was found in it; caches stay, with another project that sees them or alone."""
    with transaction.atomic():
        AuditEntry.record(by, "project.delete", project.project_id)
        for instance in project.instances.filter(cache__isnull=False).select_related("cache", "project"):
            if not instance.gone_at:
                adoption.pass_on(instance)
        pk = project.pk
        project.delete()
    forget(pk)
