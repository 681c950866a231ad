"""Verification of the URLs at which applications receive requests: each must prove that it checks signatures."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import InteractionCallbackType, InteractionType
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.applications import UpdateApplication
from hubbub.protocol.resources.interactions import PRIVATE_CHANNEL_PERMISSIONS
from hubbub.protocol.resources.webhook_events import WebhookPing
from hubbub.server.core import endpoint_problems, payload_signatures
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.outbound_http import OutboundClient, OutboundResponse
from hubbub.server.identity.applications import rules
from hubbub.server.identity.applications.store import ApplicationRow, find_signing_key


class EndpointSigner(msgspec.Struct, frozen=True):
    """The application, key and time of a signed ping."""

    application_id: ApplicationId
    key: bytes
    """Private Ed25519 key of the application."""
    now_ms: int
    """Time of the ping in Unix milliseconds."""


async def require_verified_endpoints(
    operation: AsyncOperation, require_application: Callable[[Call], ApplicationRow], body: UpdateApplication
) -> None:
    """Ping every endpoint URL in the request body. Raise form errors for the URLs that fail.

    `require_application` returns the application, and raises if the caller may not manage it."""
    urls_by_setting = {
        setting_name: url
        for setting_name in ENDPOINT_CHECKS
        if isinstance(url := getattr(body, setting_name), str) and url
    }
    if not urls_by_setting:
        return

    def validate_urls_and_load_signer(call: Call) -> EndpointSigner:
        row = require_application(call)
        for setting_name, url in urls_by_setting.items():
            rules.require_valid_url(setting_name, url)
        return _load_signer(call, row.id)

    signer = await operation.read(validate_urls_and_load_signer)
    form = errors.FormErrors()
    for setting_name, url in urls_by_setting.items():
        problem = await ENDPOINT_CHECKS[setting_name](operation.outbound, url, signer)
        if problem is not None:
            form.add(setting_name, *_unverified_url_error(setting_name, problem))
    form.raise_if_any()


async def require_event_endpoint(
    operation: AsyncOperation, setting_name: str, url: str, require_application_id: Callable[[Call], int]
) -> None:
    """Raise a form error at `setting_name` unless the URL accepts signed events of the application that
    `require_application_id` returns."""
    signer = await operation.read(lambda call: _load_signer(call, require_application_id(call)))
    problem = await find_events_problem(operation.outbound, url, signer)
    if problem is not None:
        raise errors.invalid(setting_name, *_unverified_url_error(setting_name, problem))


def _load_signer(call: Call, application_id: int) -> EndpointSigner:
    key = find_signing_key(call.tx, application_id)
    assert key is not None
    return EndpointSigner(ApplicationId(application_id), key, call.now_ms)


def _unverified_url_error(setting_name: str, problem: str) -> tuple[str, str]:
    """Return the code and message of the form error for the URL of a setting.

    The message begins with the platform's sentence; the reason and the next step follow it."""
    label = setting_name.removesuffix("_url").replace("_", " ")
    return f"APPLICATION_{setting_name.upper()}_INVALID", f"The specified {label} url could not be verified. {problem}"


async def find_events_problem(client: OutboundClient, url: str, signer: EndpointSigner) -> str | None:
    """Return why a URL cannot be used as an application's `event_webhooks_url`, or None if it can."""
    ping = codec.encode(WebhookPing(application_id=signer.application_id))
    return await payload_signatures.find_endpoint_problem(
        client,
        url,
        signer.key,
        signer.now_ms,
        ping,
        lambda response: endpoint_problems.describe_status(response, expected=204),
    )


async def find_interactions_problem(client: OutboundClient, url: str, signer: EndpointSigner) -> str | None:
    """Return why a URL cannot be used as an application's `interactions_endpoint_url`, or None if it can."""
    ping = build_interactions_ping(signer.application_id, signer.now_ms)
    return await payload_signatures.find_endpoint_problem(
        client, url, signer.key, signer.now_ms, ping, _find_pong_problem
    )


def build_interactions_ping(application_id: int, now_ms: int) -> bytes:
    """Build the JSON of a PING interaction."""
    return codec.encode(
        {
            "version": 1,
            "id": Snowflake.at(now_ms),
            "application_id": ApplicationId(application_id),
            "type": InteractionType.PING,
            "token": secrets.token_urlsafe(32),
            "entitlements": [],
            "authorizing_integration_owners": {},
            # spec/webhooks-and-interactions.md#2.1: always present; outside a channel it has the permissions of a private
            # channel.
            "app_permissions": Permissions(PRIVATE_CHANNEL_PERMISSIONS),
        }
    )


def _find_pong_problem(response: OutboundResponse) -> str | None:
    problem = endpoint_problems.describe_status(response, expected=200)
    if problem is not None:
        return problem
    try:
        if codec.decode(response.body, dict[str, Any]).get("type") == InteractionCallbackType.PONG:
            return None
    except msgspec.DecodeError:
        pass
    return endpoint_problems.describe_wrong_body(response, expected='{"type": 1}')


ENDPOINT_CHECKS: dict[str, Callable[[OutboundClient, str, EndpointSigner], Awaitable[str | None]]] = {
    "event_webhooks_url": find_events_problem,
    "interactions_endpoint_url": find_interactions_problem,
}
"""Functions that return why a URL cannot be used, by the name of the application setting that contains it."""
