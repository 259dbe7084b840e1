"""The form of a Google Cloud project."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from collectors.cloud.identities import KEY_LIMIT
from collectors.cloud.models import Approve, CloudProject, Credentials
from collectors.cloud.products import Product
from collectors.cloud.projects import FIELDS
from dashboard.forms import KEEP, LabelsField, secret_area
from fleet.models import Reach

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class ProjectForm(forms.Form):
    """What people give of a project. Checks of the values are in collectors/cloud/projects.py."""

    bound_field_class = StyledField

    project_id = forms.CharField(
        label=_("Project id"),
        max_length=100,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("As in the console's address, such as shop-prod-1234."),
    )
    credentials = forms.ChoiceField(
        label=_("Credentials"),
        choices=Credentials.choices,
        help_text=_(
            "Application default: those of this machine. Workload identity: those that the metadata server of Google"
            " Cloud gives. Both need no key here."
        ),
    )
    key = forms.CharField(
        label=_("Key of a service account (JSON)"),
        max_length=KEY_LIMIT,
        required=False,
        widget=secret_area(4),
        help_text=_("Stored encrypted and never shown again."),
    )
    metrics_project_id = forms.CharField(
        label=_("Read metrics from another project"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("A scoping project whose metrics scope holds this one: one call answers for all of its projects."),
    )
    products = forms.MultipleChoiceField(
        label=_("Products"), choices=Product.choices, widget=forms.CheckboxSelectMultiple
    )
    interval_seconds = forms.IntegerField(label=_("Look every (seconds)"), min_value=30, max_value=3_600)
    approve = forms.ChoiceField(label=_("What is found"), choices=Approve.choices)
    approve_labels = LabelsField(
        label=_("Rule: with all of these labels"),
        required=False,
        help_text=_("One key=value per line. Redis Cluster has no labels in Google's API: use names for it."),
    )
    approve_names = forms.CharField(
        label=_("Rule: with one of these names"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("With * and ?, separated by blanks, such as shop-* stock-?."),
    )
    reach = forms.ChoiceField(
        label=_("Can the nodes be reached from here?"),
        choices=Reach.choices,
        help_text=_("That takes a network that leads into the project's VPC. Cloud Monitoring needs none."),
    )
    is_paused = forms.BooleanField(label=_("Paused: do not look"), required=False)
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False)

    WHO = ("project_id", "credentials", "key")
    WHAT = ("products", "reach", "approve", "approve_labels", "approve_names")
    MORE = ("metrics_project_id", "interval_seconds", "is_paused")

    def __init__(self, *args: Any, project: CloudProject | None = None, **kwargs: Any) -> None:
        self.project = project
        super().__init__(*args, **kwargs)
        self.initial = initial_of(project or CloudProject())
        if project:
            # Another project is another row, with instances of its own.
            self.fields["project_id"].disabled = True
            self.initial |= {"project_id": project.project_id, "revision": project.revision}
        if project and project.key:
            self.fields["key"].help_text = KEEP

    def given(self) -> dict[str, Any]:
        """Return the fields for collectors.cloud.projects."""
        return {field: self.cleaned_data[field] for field in ("project_id", *FIELDS)}

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)

    def who(self) -> list[forms.BoundField]:
        return [self[name] for name in self.WHO]

    def what(self) -> list[forms.BoundField]:
        return [self[name] for name in self.WHAT]

    def more(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MORE]


def initial_of(project: CloudProject) -> dict[str, Any]:
    """Return what the form shows of a project: no secret."""
    return {field: getattr(project, field) for field in FIELDS if field != "key"}
