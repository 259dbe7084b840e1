"""How form fields look: the design system's classes on Django's widgets."""

from typing import Any

from django import forms
from django.forms.boundfield import BoundField


class StyledField(BoundField):
    """A field of a form whose widget wears the class that its kind has in the design system."""

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        attrs = super().build_widget_attrs(attrs, widget)
        return {"class": self.css_class(), **attrs}

    def css_class(self) -> str:
        ticked = {forms.CheckboxInput: "form-check-input", forms.CheckboxSelectMultiple: "form-check-input"}
        kind = {**ticked, forms.Select: "form-select"}
        name = next((css for widget, css in kind.items() if isinstance(self.field.widget, widget)), "form-control")
        return f"{name} is-invalid" if self.errors else name

    @property
    def is_checkbox(self) -> bool:
        return isinstance(self.field.widget, forms.CheckboxInput)
