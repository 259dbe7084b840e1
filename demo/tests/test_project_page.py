import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.cloud.products import Product
from demo import projects

pytestmark = pytest.mark.django_db
SENTENCE = "The demo has no Memcached instance here"


def page_with(*products: Product) -> str:
    projects.register("demo-project", "127.0.0.1:1", products, is_first=True)
    return client_of(Role.VIEWER).get("/projects/demo-project/").content.decode()


def test_the_page_says_where_there_is_no_memcached() -> None:
    assert SENTENCE in page_with(Product.REDIS, Product.REDIS_CLUSTER, Product.VALKEY)


def test_the_page_says_nothing_where_there_is_one() -> None:
    assert SENTENCE not in page_with(*Product)
