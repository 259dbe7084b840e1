"""Keys with which applications read switches."""

from typing import Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Router, Status

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from dashboard.api.answers import problems
from dashboard.api.switch_schemas import ClientKeyAnswer, ClientKeyList, IssuedClientKey, NewClientKey, is_storable
from switches import client_keys
from switches.models import ClientKey

router = Router(tags=["switches"], auth=callers())
operators = callers(Role.OPERATOR)


@router.get(
    "", response={200: ClientKeyList, **problems()}, operation_id="list_client_keys", summary="List client keys"
)
def list_client_keys(request: HttpRequest) -> dict[str, Any]:
    """Revoked ones too: when they were used last tells whether somebody still has them."""
    return {"client_keys": list(ClientKey.objects.all()[:1_000])}


@router.post(
    "",
    auth=operators,
    response={201: IssuedClientKey, **problems(409, 413, 415)},
    operation_id="issue_client_key",
    summary="Make a client key",
)
def issue_client_key(request: HttpRequest, body: NewClientKey) -> Status[dict[str, Any]]:
    """An application has two valid keys at most, so that one can take the other's place."""
    key, text = client_keys.issue(signed_in(request), body.name, body.scope)
    return Status(201, {**{name: getattr(key, name) for name in ClientKeyAnswer.model_fields}, "text": text})


@router.delete(
    "/{client_key_id}",
    auth=operators,
    response={204: None, **problems(404)},
    operation_id="revoke_client_key",
    summary="Revoke a client key",
)
def revoke_client_key(request: HttpRequest, client_key_id: Path[int]) -> Status[None]:
    """It is shut out within a second."""
    if not is_storable(client_key_id):
        raise Http404
    client_keys.revoke(signed_in(request), get_object_or_404(ClientKey.objects.valid(), pk=client_key_id))
    return Status(204, None)
