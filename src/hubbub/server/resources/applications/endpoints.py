"""Verification of the URLs at which applications receive requests: each must prove that it checks signatures."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import InteractionType
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.applications import UpdateApplication
from hubbub.protocol.resources.interactions import CONVERSATION_PERMISSIONS
from hubbub.protocol.resources.webhook_events import WebhookPing
from hubbub.server.core import signing
from hubbub.server.core.call import Call
from hubbub.server.core.guarded import GuardedAnswer, GuardedClient
from hubbub.server.core.work import Work
from hubbub.server.resources.applications import rules
from hubbub.server.resources.applications.store import ApplicationRow


class Signer(msgspec.Struct, frozen=True):
    """The parts of an application that a ping needs."""

    application_id: ApplicationId
    key: bytes
    now: int


async def require_sound(work: Work, find: Callable[[Call], ApplicationRow], body: UpdateApplication) -> None:
    """Ping every endpoint URL in the request body. Raises form errors for the URLs that fail."""
    named = {name: url for name in CHECKS if isinstance(url := getattr(body, name), str) and url}
    if not named:
        return

    def load(call: Call) -> Signer:
        row = find(call)
        for name, url in named.items():
            rules.require_url(name, url)
        return _signer(call, row.id)

    signer = await work.read(load)
    form = errors.FormErrors()
    for name, url in named.items():
        if not await CHECKS[name](work.outside, url, signer):
            form.add(name, *_unverified(name))
    form.raise_if_any()


async def require_takes_events(work: Work, name: str, url: str, find: Callable[[Call], int]) -> None:
    """Raise a form error at `name` unless the URL accepts signed events of the application that `find` returns."""
    signer = await work.read(lambda call: _signer(call, find(call)))
    if not await takes_events(work.outside, url, signer):
        raise errors.invalid(name, *_unverified(name))


def _signer(call: Call, application_id: int) -> Signer:
    key = signing.find_key(call.tx, application_id)
    assert key is not None
    return Signer(ApplicationId(application_id), key, call.now)


def _unverified(name: str) -> tuple[str, str]:
    label = name.removesuffix("_url").replace("_", " ")
    return f"APPLICATION_{name.upper()}_INVALID", f"The specified {label} url could not be verified."


async def takes_events(outside: GuardedClient, url: str, signer: Signer) -> bool:
    """Return whether a URL can be used as an application's `event_webhooks_url`."""
    ping = json.encode(WebhookPing(application_id=signer.application_id))
    return await signing.is_sound(outside, url, signer.key, signer.now, ping, lambda response: response.status == 204)


async def takes_interactions(outside: GuardedClient, url: str, signer: Signer) -> bool:
    """Return whether a URL can be used as an application's `interactions_endpoint_url`."""
    ping = interactions_ping(signer.application_id, signer.now)
    return await signing.is_sound(outside, url, signer.key, signer.now, ping, _is_pong)


def interactions_ping(application_id: int, now: int) -> bytes:
    """Build a PING interaction."""
    return json.encode(
        {
            "version": 1,
            "id": Snowflake.at(now),
            "application_id": ApplicationId(application_id),
            "type": InteractionType.PING,
            "token": secrets.token_urlsafe(32),
            "entitlements": [],
            "authorizing_integration_owners": {},
            # webhooks-and-interactions.md 2.1: always present; outside a channel it has the permissions of a private
            # channel.
            "app_permissions": Permissions(CONVERSATION_PERMISSIONS),
        }
    )


def _is_pong(response: GuardedAnswer) -> bool:
    try:
        return response.status == 200 and json.decode(response.body, dict[str, Any]).get("type") == 1
    except msgspec.DecodeError:
        return False


CHECKS: dict[str, Callable[[GuardedClient, str, Signer], Awaitable[bool]]] = {
    "event_webhooks_url": takes_events,
    "interactions_endpoint_url": takes_interactions,
}
"""Checks by the name of the setting."""
