"""Google Cloud projects: the list, what was found in one, and its form."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.access import operator_required, signed_in
from collectors.cloud import permissions, projects
from collectors.cloud.models import CloudProject
from dashboard import feed_panel, project_changes, project_page
from dashboard.project_form import ProjectForm
from dashboard.refresh import is_refresh


@require_safe
@vary_on_headers("HX-Request")
def project_list(request: HttpRequest) -> HttpResponse:
    template = "dashboard/_projects.html" if is_refresh(request) else "dashboard/projects.html"
    return render(request, template, {"rows": project_page.rows()})


@require_safe
@vary_on_headers("HX-Request")
def project(request: HttpRequest, project_id: str) -> HttpResponse:
    found = get_object_or_404(CloudProject, project_id=project_id)
    instances = project_page.instances_of(found)
    context = {
        "project": found,
        "states": (states := project_page.states_of(found)),
        "has_answered": any(one.ok_at for one in states),
        "instances": instances,
        "waiting": sum(row.needs_decision and row.has_choice for row in instances),
        "may_choose": any(row.has_choice for row in instances),
        "panel": feed_panel.of(found),
    }
    return render(request, "dashboard/_project.html" if is_refresh(request) else "dashboard/project.html", context)


@operator_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = projects.add(signed_in(request), form.given())
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The project is added. What it holds is shown here within a minute."))
            return redirect(made)
    return form_page(request, form)


@operator_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, project_id: str) -> HttpResponse:
    found = get_object_or_404(CloudProject, project_id=project_id)
    form = ProjectForm(request.POST or None, project=found)
    if request.method == "POST" and form.is_valid():
        try:
            projects.change(signed_in(request), found, form.given(), form.cleaned_data["revision"] or found.revision)
        except ValidationError as error:
            form.refuse(error)
        else:
            messages.success(request, _("The changes have been saved."))
            return redirect(found)
    return form_page(request, form)


@operator_required
@require_POST
def test(request: HttpRequest) -> HttpResponse:
    """Ask every API with what the form holds. htmx asks for the answers alone."""
    stored = CloudProject.objects.filter(project_id=request.POST.get("editing", "").replace("\0", "")).first()
    form, trial = ProjectForm(request.POST, project=stored), None
    if form.is_valid():
        try:
            trial = project_changes.try_out(stored, form.given())
        except ValidationError as error:
            form.refuse(error)
    if "HX-Request" in request.headers:
        return render(request, "dashboard/_project_test.html", {"form": form, "trial": trial})
    return form_page(request, form, trial)


def form_page(request: HttpRequest, form: ProjectForm, trial: project_changes.Trial | None = None) -> HttpResponse:
    # What a new project needs can be granted before it is there.
    context = {"form": form, "trial": trial, "commands": permissions.needed(form.project or CloudProject())}
    return render(request, "dashboard/project_form.html", context, status=400 if form.errors else 200)


@operator_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, project_id: str) -> HttpResponse:
    found = get_object_or_404(CloudProject, project_id=project_id)
    if request.method == "POST":
        projects.delete(signed_in(request), found)
        messages.success(request, _("%(name)s has been removed. Its caches stay.") % {"name": project_id})
        return redirect("projects")
    caches = found.instances.filter(cache__isnull=False).count()
    return render(request, "dashboard/project_delete.html", {"project": found, "caches": caches})


@operator_required
@require_POST
def look(request: HttpRequest, project_id: str) -> HttpResponse:
    found = get_object_or_404(CloudProject, project_id=project_id)
    projects.look_now(signed_in(request), found)
    messages.success(request, _("The project is looked into within 15 seconds."))
    return redirect(found)


@operator_required
@require_POST
def decide(request: HttpRequest, project_id: str) -> HttpResponse:
    """Add or ignore the instances that were ticked."""
    found = get_object_or_404(CloudProject, project_id=project_id)
    chosen = [int(word) for word in request.POST.getlist("instance")[:1_000] if word.isdecimal() and len(word) < 19]
    instances = list(found.instances.filter(pk__in=chosen).select_related("project"))
    if not instances:
        messages.warning(request, _("Choose at least one instance."))
        return redirect(found)
    outcome = project_changes.decide(signed_in(request), instances, request.POST.get("what", ""), timezone.now())
    for sentence in outcome.refusals:
        messages.error(request, sentence)
    if outcome.done:
        words = ngettext("%(count)d instance is decided on.", "%(count)d instances are decided on.", outcome.done)
        messages.success(request, words % {"count": outcome.done})
    return redirect(found)
