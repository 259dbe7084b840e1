"""The list of users, for administrators."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts import people
from accounts.access import admin_required, signed_in
from accounts.forms import NewUserForm, PasswordForm, RoleForm
from accounts.models import Role, User


@admin_required
@require_GET
def users(request: HttpRequest) -> HttpResponse:
    return users_page(request, NewUserForm())


@admin_required
@require_POST
def add_user(request: HttpRequest) -> HttpResponse:
    form = NewUserForm(request.POST)
    if not form.is_valid():
        return users_page(request, form, status=400)
    given = form.cleaned_data
    person = people.add_person(signed_in(request), given["username"], given["role"], given["password"])
    messages.success(request, _("%(name)s can sign in now.") % {"name": person.username})
    return redirect("users")


@admin_required
@require_POST
def change_role(request: HttpRequest, user_id: int) -> HttpResponse:
    person, form = get_object_or_404(User, pk=user_id), RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("There is no such role."))
        return redirect("users")
    try:
        people.change_role(signed_in(request), person, form.cleaned_data["role"])
    except ValidationError as error:
        messages.error(request, error.messages[0])
    else:
        role = person.get_role_display()
        messages.success(request, _("%(name)s now has the role %(role)s.") % {"name": person.username, "role": role})
    return redirect("users")


@admin_required
@require_POST
def activate(request: HttpRequest, user_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=user_id)
    people.set_active(signed_in(request), person, active=True)
    messages.success(request, _("%(name)s can sign in again.") % {"name": person.username})
    return redirect("users")


@admin_required
@require_POST
def deactivate(request: HttpRequest, user_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=user_id)
    try:
        people.set_active(signed_in(request), person, active=False)
    except ValidationError as error:
        messages.error(request, error.messages[0])
    else:
        messages.success(
            request, _("%(name)s is blocked; their sessions and tokens have ended.") % {"name": person.username}
        )
    return redirect("users")


@admin_required
@require_POST
def set_password(request: HttpRequest, user_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=user_id)
    form = PasswordForm(request.POST, person=person)
    if form.is_valid():
        people.set_password(signed_in(request), person, form.cleaned_data["password"])
        messages.success(request, _("%(name)s has a new password.") % {"name": person.username})
    else:
        messages.error(request, " ".join(str(error) for error in form.errors["password"]))
    return redirect("users")


def users_page(request: HttpRequest, form: NewUserForm, status: int = 200) -> HttpResponse:
    context = {"people": User.objects.order_by("username"), "form": form, "roles": Role.choices}
    return render(request, "accounts/users.html", context, status=status)
