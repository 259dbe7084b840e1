from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from collectors.cloud import projects
from collectors.cloud.models import Approve, CloudProject, Credentials
from collectors.cloud.products import Product
from dashboard import project_changes
from dashboard.management.commands.add_cache import content_of
from fleet.labels import parse_labels
from fleet.models import Reach

# Options that are fields under the same name.
SAME = ("credentials", "products", "interval_seconds", "approve", "approve_names", "reach", "metrics_project_id")


class Command(BaseCommand):
    help = (
        "Add a Google Cloud project. Ends with 0 where it is added, 1 where it is refused, 2 for a wrong command line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project_id", help="the project's id, not its name or number")
        parser.add_argument("--credentials", choices=Credentials.values)
        parser.add_argument(
            "--key-file", metavar="FILE", help="JSON key of a service account; implies --credentials key"
        )
        parser.add_argument(
            "--product", action="append", choices=Product.values, dest="products", help="all, if left out"
        )
        parser.add_argument("--interval", type=int, metavar="SECONDS", dest="interval_seconds")
        parser.add_argument("--approve", choices=Approve.values, help="what becomes of what is found; ask, if left out")
        parser.add_argument("--approve-label", action="append", default=[], metavar="KEY=VALUE")
        parser.add_argument("--approve-names", metavar="PATTERNS", help="with * and ?, separated by blanks")
        parser.add_argument("--reach", choices=Reach.values, help="service: read Cloud Monitoring alone")
        parser.add_argument("--metrics-project", metavar="ID", dest="metrics_project_id")
        parser.add_argument("--no-test", action="store_true", help="add without asking Google first")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["project_id"]
        if CloudProject.objects.filter(project_id=name.replace("\0", "")).exists():
            self.stdout.write(f"{name} is here already.")
            return
        try:
            given = given_in(options)
            if not options["no_test"]:
                self.show(project_changes.try_out(None, given))
            projects.add(None, given)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"{name} is added. It is looked into within a minute.")

    def show(self, trial: project_changes.Trial) -> None:
        for check in trial.checks:
            self.stdout.write(f"  {'ok    ' if check.ok else 'failed'}  {check.api.label}: {check.sentence}")
        for command in trial.commands:
            self.stdout.write(f"  {command}")


def given_in(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields for collectors.cloud.projects. Raise CommandError for a file that cannot be read."""
    given = {field: options[field] for field in ("project_id", *SAME) if options[field] is not None}
    if options["approve_label"]:
        given["approve_labels"] = parse_labels(options["approve_label"])
    if options["key_file"]:
        given |= {"credentials": str(Credentials.KEY), "key": content_of(options["key_file"])}
    return given
