"""The caller's own tokens."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Path, Router, Status

from accounts import tokens
from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import ApiToken
from dashboard.api.answers import problems
from dashboard.api.schemas import BIGGEST, CreatedToken, NewToken, TokenList

router = Router(tags=["tokens"], auth=callers())


@router.get("", response={200: TokenList, **problems()}, operation_id="list_tokens", summary="List your tokens")
def list_tokens(request: HttpRequest) -> dict[str, Any]:
    return {"tokens": ApiToken.objects.usable().filter(user=signed_in(request))}


@router.post(
    "", response={201: CreatedToken, **problems(413, 415)}, operation_id="create_token", summary="Create a token"
)
def create_token(request: HttpRequest, body: NewToken) -> Status[dict[str, Any]]:
    """The token acts as you, with your role. Its text is in this answer only."""
    ends = timezone.now() + timedelta(days=body.expires_in_days) if body.expires_in_days else None
    user = signed_in(request)
    token, text = tokens.create(user, body.name, ends, by=user)
    shown = {name: getattr(token, name) for name in CreatedToken.model_fields if name != "token"}
    return Status(201, {**shown, "token": text})


@router.delete(
    "/{token_id}",
    response={204: None, **problems(404)},
    operation_id="revoke_token",
    summary="Revoke one of your tokens",
)
def revoke_token(request: HttpRequest, token_id: Path[int]) -> Status[None]:
    if not 0 < token_id <= BIGGEST:
        token_id = 0
    user = signed_in(request)
    tokens.revoke(user, get_object_or_404(ApiToken.objects.usable(), pk=token_id, user=user))
    return Status(204, None)
