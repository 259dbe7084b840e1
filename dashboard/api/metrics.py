"""The catalogue of metrics."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from accounts.api_auth import callers
from collectors.cloud.service_metrics import SERVICE_METRICS
from collectors.metrics.lookup import DERIVED_BY_NAME, NAMES, shown
from dashboard.api.answers import problems
from dashboard.api.schemas import MetricList

router = Router(tags=["metrics"], auth=callers())


@router.get("", response={200: MetricList, **problems()}, operation_id="list_metrics", summary="List all metrics")
def list_metrics(request: HttpRequest) -> dict[str, Any]:
    own = [metric_answer(name) for name in NAMES]
    told = (
        {"name": one.name, "unit": one.unit, "meaning": str(one.meaning), "kind": "service"} for one in SERVICE_METRICS
    )
    return {"metrics": [*own, *told]}


def metric_answer(name: str) -> dict[str, Any]:
    metric = shown(name)
    kind = "derived" if name in DERIVED_BY_NAME else "detail" if metric.is_detail else "hot"
    return {"name": name, "unit": metric.unit, "meaning": metric.meaning, "kind": kind}
