import pytest

from collectors.cloud.models import Approve, CloudProject
from collectors.cloud.products import Product
from demo import projects

pytestmark = pytest.mark.django_db
ALL = list(Product)
WITHOUT_MEMCACHED = [product for product in Product if product != Product.MEMCACHED]


def test_it_registers_the_project_with_its_endpoint() -> None:
    assert projects.register("demo-project", "127.0.0.1:1", ALL, is_first=True)

    project = CloudProject.objects.get()
    assert (project.project_id, project.endpoint, project.is_demo) == ("demo-project", "127.0.0.1:1", True)
    assert (project.approve, project.products) == (Approve.ALL, Product.values)


def test_it_brings_endpoint_and_products_up_to_date() -> None:
    projects.register("demo-project", "127.0.0.1:1", ALL, is_first=True)

    assert not projects.register("demo-project", "127.0.0.1:2", WITHOUT_MEMCACHED, is_first=False)

    project = CloudProject.objects.get()
    assert (project.endpoint, project.revision) == ("127.0.0.1:2", 2)
    assert not project.wants(Product.MEMCACHED)


def test_it_leaves_a_project_alone_that_is_up_to_date() -> None:
    projects.register("demo-project", "127.0.0.1:1", ALL, is_first=True)

    projects.register("demo-project", "127.0.0.1:1", ALL, is_first=False)

    assert CloudProject.objects.get().revision == 1


def test_it_does_not_bring_back_what_somebody_deleted() -> None:
    assert not projects.register("demo-project", "127.0.0.1:1", ALL, is_first=False)

    assert not CloudProject.objects.exists()


def test_it_leaves_the_id_to_a_project_that_is_not_a_demo() -> None:
    CloudProject.objects.create(project_id="demo-project")

    assert not projects.register("demo-project", "127.0.0.1:1", ALL, is_first=True)

    assert CloudProject.objects.get().endpoint == ""
