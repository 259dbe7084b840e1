from django.contrib.auth.decorators import login_not_required
from django.urls import path
from django.views.i18n import set_language

from accounts.views import account, audit, session, users

urlpatterns = [
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.SignOut.as_view(), name="logout"),
    # The sign-in page offers the languages too.
    path("i18n/setlang/", login_not_required(set_language), name="set_language"),
    path("account/", account.account, name="account"),
    path("account/password/", account.change_password, name="account-password"),
    path("account/time-zone/", account.choose_time_zone, name="account-time-zone"),
    path("account/tokens/", account.create_token, name="token-new"),
    path("account/tokens/<int:token_id>/revoke/", account.revoke_token, name="token-revoke"),
    path("users/", users.users, name="users"),
    path("users/new/", users.add_user, name="user-new"),
    path("users/<int:user_id>/role/", users.change_role, name="user-role"),
    path("users/<int:user_id>/activate/", users.activate, name="user-activate"),
    path("users/<int:user_id>/deactivate/", users.deactivate, name="user-deactivate"),
    path("users/<int:user_id>/password/", users.set_password, name="user-password"),
    path("audit/", audit.audit, name="audit"),
]
