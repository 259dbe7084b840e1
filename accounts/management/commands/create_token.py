from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts import people, tokens
from accounts.models import ApiToken, Role, User


class Command(BaseCommand):
    help = "Create an API token and print only the token. A user that is missing is made, without a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, help="user name")
        parser.add_argument("--role", required=True, choices=Role.values, help="role of a user that is made")
        parser.add_argument("--name", default="command line", help="what uses the token")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first() or made(options["user"], options["role"])
        if user.role != options["role"]:
            raise CommandError(
                f"{user.username} has the role {user.role}, not {options['role']}; change it on the users page."
            )
        if not user.is_active:
            raise CommandError(f"{user.username} is shut out; let the user in again on the users page first.")
        self.stdout.write(tokens.create(user, checked_name(options["name"]), None, by=None)[1])


def made(username: str, role: str) -> User:
    try:
        User(username=username, role=role).clean_fields(exclude=["password"])
        people.check_name(username)
    except ValidationError as error:
        raise CommandError(f"The user name cannot be used: {error.messages[0]}") from error
    return people.add_person(None, username, role, None)


def checked_name(name: str) -> str:
    try:
        ApiToken(name=name).clean_fields(exclude=["user", "digest", "hint"])
    except ValidationError as error:
        raise CommandError(f"The name cannot be used: {error.messages[0]}") from error
    return name
