"""The demo's entry among the Google Cloud projects that Shardwatch looks into."""

from collections.abc import Sequence

from django.db.models import F

from collectors.cloud.models import Approve, CloudProject
from collectors.cloud.products import Product

INTERVAL_SECONDS = 30


def register(project_id: str, endpoint: str, products: Sequence[Product], is_first: bool) -> bool:
    """Add the demo's project at its first start, later bring it up to date; return whether it was added.

    One that somebody deleted stays deleted, and a project of the user's keeps its id.
    """
    wanted = [str(product) for product in products]
    project = CloudProject.objects.filter(is_demo=True).first()
    if project is not None:
        if (project.endpoint, project.products) != (endpoint, wanted):
            CloudProject.objects.filter(pk=project.pk).update(
                endpoint=endpoint, products=wanted, revision=F("revision") + 1
            )
        return False
    if not is_first or CloudProject.objects.filter(project_id=project_id).exists():
        return False
    CloudProject.objects.create(
        project_id=project_id,
        endpoint=endpoint,
        products=wanted,
        approve=Approve.ALL,
        interval_seconds=INTERVAL_SECONDS,
        is_demo=True,
    )
    return True
