import pytest

from accounts.models import Role
from dashboard.tests.api import call


@pytest.mark.django_db
def test_it_lists_every_metric_with_unit_and_meaning() -> None:
    metrics = {metric["name"]: metric for metric in call(Role.VIEWER, "get", "/metrics").json()["metrics"]}

    assert (metrics["used_memory"]["unit"], metrics["used_memory"]["kind"]) == ("bytes", "hot")
    assert metrics["cpu_ratio"]["kind"] == "derived"
    assert all(metric["meaning"] for metric in metrics.values())
