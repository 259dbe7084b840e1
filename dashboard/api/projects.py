"""Google Cloud projects: what is looked into, what was found, and what is decided on it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Path, Router, Schema, Status
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from collectors.cloud import projects
from collectors.cloud.identities import KEY_LIMIT
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.snapshots import facts_of
from dashboard import project_changes, project_page
from dashboard.api.answers import problems
from dashboard.api.schemas import NO_NUL, Labels, ReachName, Strict, Whole
from dashboard.project_page import InstanceRow, ProductState

router = Router(tags=["projects"], auth=callers())
operators = callers(Role.OPERATOR)
# As PROJECT_ID_RULE of collectors/cloud/models.py.
PROJECT_PATTERN = r"^([a-z0-9.-]{3,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$"
PROJECT_NAME = re.compile(PROJECT_PATTERN)
ProjectId = Annotated[str, Field(pattern=PROJECT_PATTERN, max_length=100, examples=["shop-prod-1234"])]
ProductName = Literal["redis", "redis-cluster", "valkey", "memcached"]
Revision = Annotated[int, Field(ge=1, le=2**31 - 1), Whole]


class ProjectGiven(Strict):
    """What is left out keeps its value, or its default for a new project."""

    metrics_project_id: Annotated[str, Field(pattern=rf"^$|{PROJECT_PATTERN}", max_length=100)] | None = Field(
        None, description="A scoping project that answers for the metrics of this one; empty: the project itself."
    )
    credentials: Literal["adc", "workload-identity", "key"] | None = None
    key: Annotated[str, Field(max_length=KEY_LIMIT, pattern=NO_NUL)] | None = Field(
        None, description="The JSON key of a service account. Never answered back; empty keeps what is stored."
    )
    products: Annotated[list[ProductName], Field(min_length=1, max_length=4)] | None = None
    interval_seconds: Annotated[int, Field(ge=30, le=3_600), Whole] | None = None
    approve: Literal["ask", "rule", "all"] | None = Field(None, description="What becomes of what is found.")
    approve_labels: Labels | None = None
    approve_names: Annotated[str, Field(max_length=500, pattern=NO_NUL)] | None = Field(
        None, description="Patterns with * and ?, separated by blanks.", examples=["shop-* stock-?"]
    )
    reach: ReachName | None = None
    is_paused: bool | None = None

    def given(self) -> dict[str, Any]:
        named = self.model_dump(exclude_unset=True)
        return {field: value for field, value in named.items() if value is not None and field != "revision"}


class NewProject(ProjectGiven):
    project_id: ProjectId


class ProjectChange(ProjectGiven):
    revision: Revision | None = Field(
        None, description="Refuse the change (409) where the project is no longer at this revision."
    )


class ProjectTrial(ProjectGiven):
    project_id: ProjectId = Field(description="One that is added already is tested with its stored key.")


class ProductStateAnswer(Schema):
    product: str
    state: str = Field(description="ok, partial, failed, or waiting for the first answer.")
    sentences: list[str] = Field(description="What is wrong and what to do.")
    asked_at: datetime | None
    complete_at: datetime | None = Field(description="The last complete answer.")
    instances: int


class ProjectAnswer(Schema):
    project_id: str
    url: str
    metrics_project_id: str
    credentials: str
    has_key: bool
    account: str = Field(description="Whose key it is; empty without a key.")
    products: list[str]
    interval_seconds: int
    approve: str
    approve_labels: dict[str, str]
    approve_names: str
    reach: str
    is_paused: bool
    is_demo: bool
    created_at: datetime
    discovered_at: datetime | None
    revision: int
    states: list[ProductStateAnswer]


class ProjectList(Schema):
    projects: list[ProjectAnswer]


class CloudInstanceAnswer(Schema):
    id: int
    name: str = Field(description="The service's full name of it.")
    product: str
    region: str
    short_id: str
    state: str = Field(description="up, changing, repair, maintenance, gone or unknown.")
    state_name: str = Field(description="Google's own word.")
    decision: str = Field(description="waiting, approved or ignored.")
    is_asked_for: bool = Field(
        description="False where its product was left out of the project since: what is told is from before."
    )
    cache: str | None = Field(description="The cache that it became.")
    size: str
    version: str
    first_seen_at: datetime
    seen_at: datetime
    gone_at: datetime | None


class CloudInstanceList(Schema):
    project_id: str
    instances: list[CloudInstanceAnswer]


class Approval(Strict):
    reach: ReachName | None = Field(None, description="Where it is other than the project says.")


class ApiCheckAnswer(Schema):
    api: str
    service: str
    permission: str
    is_optional: bool
    ok: bool
    sentence: str
    seconds: float


class ProjectTrialAnswer(Schema):
    ok: bool
    account: str = Field(description="Who asked; empty where nobody can tell.")
    checks: list[ApiCheckAnswer]
    commands: list[str] = Field(description="gcloud commands that grant what is missing, and nothing more.")


@router.get("", response={200: ProjectList, **problems()}, operation_id="list_projects", summary="List projects")
def list_projects(request: HttpRequest) -> dict[str, Any]:
    return {"projects": [project_answer(request, found) for found in CloudProject.objects.all()]}


@router.post(
    "",
    auth=operators,
    response={201: ProjectAnswer, **problems(409, 413, 415)},
    operation_id="add_project",
    summary="Add a Google Cloud project",
)
def add_project(request: HttpRequest, body: NewProject) -> Status[dict[str, Any]]:
    """It is looked into within 15 seconds."""
    return Status(201, project_answer(request, projects.add(signed_in(request), body.given())))


@router.post(
    "/test",
    auth=operators,
    response={200: ProjectTrialAnswer, **problems(413, 415)},
    operation_id="test_project",
    summary="Ask every API of Google that a project needs",
)
def test_project(request: HttpRequest, body: ProjectTrial) -> dict[str, Any]:
    """Nothing is stored. An API that refuses is a 200 whose check says why."""
    stored = CloudProject.objects.filter(project_id=body.project_id).first()
    trial = project_changes.try_out(stored, body.given())
    checks = [
        {
            "api": one.api.key,
            "service": one.api.service,
            "permission": one.api.permission,
            "is_optional": one.api.is_optional,
            "ok": one.ok,
            "sentence": one.sentence,
            "seconds": round(one.seconds, 3),
        }
        for one in trial.checks
    ]
    return {"ok": trial.ok, "account": trial.account, "checks": checks, "commands": trial.commands}


@router.get(
    "/{project_id}",
    response={200: ProjectAnswer, **problems(404)},
    operation_id="get_project",
    summary="Show a project and how Google's APIs answer",
)
def get_project(request: HttpRequest, project_id: str) -> dict[str, Any]:
    return project_answer(request, project_named(project_id))


@router.patch(
    "/{project_id}",
    auth=operators,
    response={200: ProjectAnswer, **problems(404, 409, 413, 415)},
    operation_id="change_project",
    summary="Change a project",
)
def change_project(request: HttpRequest, project_id: str, body: ProjectChange) -> dict[str, Any]:
    found = project_named(project_id)
    changed = projects.change(signed_in(request), found, body.given(), body.revision or found.revision)
    return project_answer(request, changed)


@router.delete(
    "/{project_id}",
    auth=operators,
    response={204: None, **problems(404)},
    operation_id="delete_project",
    summary="Remove a project; its caches stay",
)
def delete_project(request: HttpRequest, project_id: str) -> Status[None]:
    projects.delete(signed_in(request), project_named(project_id))
    return Status(204, None)


@router.post(
    "/{project_id}/look",
    auth=operators,
    response={202: ProjectAnswer, **problems(404)},
    operation_id="look_into_project",
    summary="Look into a project at once",
)
def look_into_project(request: HttpRequest, project_id: str) -> Status[dict[str, Any]]:
    found = project_named(project_id)
    projects.look_now(signed_in(request), found)
    return Status(202, project_answer(request, found))


@router.get(
    "/{project_id}/instances",
    response={200: CloudInstanceList, **problems(404)},
    operation_id="list_instances",
    summary="List what was found in a project",
)
def list_instances(request: HttpRequest, project_id: str) -> dict[str, Any]:
    found = project_named(project_id)
    rows = [instance_answer(row) for row in project_page.instances_of(found)]
    return {"project_id": found.project_id, "instances": rows}


@router.post(
    "/{project_id}/instances/{instance_id}/approve",
    auth=operators,
    response={200: CloudInstanceAnswer, **problems(404, 413, 415)},
    operation_id="approve_instance",
    summary="Make a cache of an instance",
)
def approve_instance(request: HttpRequest, project_id: str, instance_id: Path[int], body: Approval) -> dict[str, Any]:
    """`cache` stays null until the service names an address."""
    found = instance_numbered(project_id, instance_id)
    project_changes.approve(signed_in(request), found, body.reach or "", timezone.now())
    return instance_answer(row_of(found.pk))


@router.post(
    "/{project_id}/instances/{instance_id}/ignore",
    auth=operators,
    response={200: CloudInstanceAnswer, **problems(404)},
    operation_id="ignore_instance",
    summary="Stop asking about an instance",
)
def ignore_instance(request: HttpRequest, project_id: str, instance_id: Path[int]) -> dict[str, Any]:
    found = instance_numbered(project_id, instance_id)
    project_changes.ignore(signed_in(request), found)
    return instance_answer(row_of(found.pk))


def project_named(project_id: str) -> CloudProject:
    """Return the project, or raise Http404; an id that no project can have is not looked for."""
    if not PROJECT_NAME.fullmatch(project_id):
        raise Http404
    return get_object_or_404(CloudProject, project_id=project_id)


def instance_numbered(project_id: str, instance_id: int) -> CloudInstance:
    if not 0 < instance_id < 2**63:
        raise Http404
    rows = project_named(project_id).instances.select_related("project", "cache")
    return get_object_or_404(rows, pk=instance_id)


def row_of(pk: int) -> InstanceRow:
    found = CloudInstance.objects.select_related("project", "cache").get(pk=pk)
    return InstanceRow(found, facts_of(found))


def project_answer(request: HttpRequest, project: CloudProject) -> dict[str, Any]:
    """Return what may be shown of a project: whether a key is set, never what it is."""
    plain = (*projects.FIELDS, "project_id", "is_demo", "created_at", "discovered_at", "revision")
    return {
        **{field: getattr(project, field) for field in plain if field != "key"},
        "url": request.build_absolute_uri(project.get_absolute_url()),
        "has_key": bool(project.key),
        "account": project.principal,
        "states": [state_answer(state) for state in project_page.states_of(project)],
    }


def state_answer(one: ProductState) -> dict[str, Any]:
    same = {"product": str(one.product), "state": one.state, "sentences": list(one.sentences)}
    return {**same, "asked_at": one.at, "complete_at": one.ok_at, "instances": one.count}


def instance_answer(row: InstanceRow) -> dict[str, Any]:
    plain = ("name", "product", "region", "short_id", "state", "state_name", "decision")
    times = ("first_seen_at", "seen_at", "gone_at")
    found = row.instance
    return {
        **{field: getattr(found, field) for field in (*plain, *times)},
        "id": found.pk,
        "is_asked_for": found.is_asked_for,
        "cache": found.cache.name if found.cache else None,
        "size": row.size,
        "version": row.facts.version,
    }
