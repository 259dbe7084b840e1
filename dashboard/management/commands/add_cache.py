import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard import cache_changes
from fleet.addresses import AddressError, parse_addresses
from fleet.labels import parse_labels
from fleet.models import Cache

FILES = {"ca": "ca_bundle", "cert": "client_certificate", "key": "client_key"}


class Command(BaseCommand):
    help = "Register a cache. Ends with 0 where it is registered, 1 where it is refused, 2 for a wrong command line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="small letters, digits, dots and hyphens")
        parser.add_argument("address", help="redis://host:6379, rediss://…, memcached://…, or several with commas")
        parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
        parser.add_argument("--interval", type=int, metavar="SECONDS", help="seconds between two polls")
        parser.add_argument("--username", default="")
        secret = parser.add_mutually_exclusive_group()
        secret.add_argument("--password-file", metavar="FILE", help="file that holds the password")
        secret.add_argument("--password-env", metavar="VARIABLE", help="environment variable that holds the password")
        parser.add_argument("--ca", metavar="FILE", help="CA bundle (PEM)")
        parser.add_argument("--cert", metavar="FILE", help="client certificate (PEM)")
        parser.add_argument("--key", metavar="FILE", help="client key (PEM)")
        parser.add_argument("--no-test", action="store_true", help="register without trying the connection")

    def handle(self, *args: Any, **options: Any) -> None:
        if is_registered(options["name"], options["address"]):
            self.stdout.write(f"{options['name']} is already registered.")
            return
        try:
            given = given_in(options)
            if not options["no_test"]:
                self.show_steps(given)
            _, discovery = cache_changes.add(None, given)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"{options['name']} is registered. {discovery.sentence}")

    def show_steps(self, given: dict[str, Any]) -> None:
        for step in cache_changes.try_connection(Cache(), given):
            self.stdout.write(f"  {'ok    ' if step.ok else 'failed'}  {step.label}: {step.sentence}")


def is_registered(name: str, address: str) -> bool:
    """Return whether a cache of this name watches these servers already."""
    cache = Cache.objects.filter(name=name.replace("\0", "")).first()
    try:
        return cache is not None and cache.seeds() == parse_addresses(address)[0]
    except AddressError:
        return False


def given_in(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields for fleet.registration. Raise CommandError for a file or variable that cannot be read."""
    given = {"name": options["name"], "address": options["address"], "labels": parse_labels(options["label"])}
    if options["interval"] is not None:
        given["poll_interval_seconds"] = options["interval"]
    given |= {field: content_of(options[option]) for option, field in FILES.items() if options[option]}
    if options["username"]:
        given["username"] = options["username"]
    if password := password_in(options):
        given["password"] = password
    return given


def password_in(options: dict[str, Any]) -> str:
    if options["password_file"]:
        return content_of(options["password_file"]).rstrip("\r\n")
    if variable := options["password_env"]:
        if variable not in os.environ:
            raise CommandError(f"The environment variable {variable} is not set.")
        return os.environ[variable]
    return ""


def content_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
