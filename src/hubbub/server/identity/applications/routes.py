"""HTTP handlers for applications and the rollover of their signing keys."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import application_keys as keys_wire
from hubbub.protocol.resources import applications as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.identity.applications import actions, keys, rules, store, views
from hubbub.server.identity.applications.addresses import endpoints, redirects
from hubbub.server.identity.applications.signals import (
    ActivitiesToggled,
    EventWebhooksSet,
    IntentsEnabled,
    InteractionsEndpointSet,
)
from hubbub.server.identity.applications.store import ApplicationRow


@handles(wire.GET_MY_APPLICATION)
def get_my_application(call: Call) -> wire.Application:
    """Get the current application."""
    return views.application(call, _require_current_application(call))


@handles(wire.GET_MY_OAUTH2_APPLICATION)
def get_my_oauth2_application(call: Call) -> wire.Application:
    """Get the current OAuth2 application.

    Client libraries use this route at login."""
    return views.application(call, _require_current_application(call))


@handles(wire.GET_APPLICATION)
def get_application(call: Call, application_id: ApplicationId) -> wire.Application:
    """Get an application.

    The caller must be the application's bot, its owner or a member of its team."""
    row = rules.require_viewer(call, application_id)
    return views.application(call, row, for_user=call.actor.kind == "user")


@handles(wire.GET_APPLICATION_RPC)
def get_application_rpc(call: Call, application_id: ApplicationId) -> wire.RpcApplication:
    """Get the public data of an application for RPC."""
    row = store.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    return views.rpc_application(row, call.now_ms)


@handles(wire.UPDATE_MY_APPLICATION)
async def update_my_application(operation: AsyncOperation, body: wire.UpdateApplication) -> wire.Application:
    """Update the current application."""
    return await _verify_and_update(operation, _require_current_application, body)


@handles(wire.UPDATE_APPLICATION)
async def update_application(
    operation: AsyncOperation, application_id: ApplicationId, body: wire.ManageApplication
) -> wire.Application:
    """Update an application.

    The caller must be the application's bot, its owner, or an admin or developer of its team."""
    return await _verify_and_update(operation, lambda call: rules.require_manager(call, application_id), body)


@handles(keys_wire.GET_KEY_ROLLOVER)
def get_key_rollover(call: Call, application_id: ApplicationId) -> keys_wire.KeyRollover:
    """Get the rollover of an application's signing key."""
    return keys.view(call, rules.require_viewer(call, application_id))


@handles(keys_wire.PREPARE_KEY_ROLLOVER)
def prepare_key_rollover(call: Call, application_id: ApplicationId) -> keys_wire.KeyRollover:
    """Prepare the next signing key of an application.

    Requests are signed with the current key until the switch."""
    row = rules.require_manager(call, application_id)
    keys.create_next_key(call, row)
    return keys.view(call, row)


@handles(keys_wire.SWITCH_SIGNING_KEY)
def switch_signing_key(call: Call, application_id: ApplicationId, body: keys_wire.SwitchKey) -> keys_wire.KeyRollover:
    """Switch to the next signing key, immediately or at a time."""
    row = rules.require_manager(call, application_id)
    keys.schedule_switch(call, row, None if body.switch_at is UNSET else codec.milliseconds(body.switch_at))
    return keys.view(call, rules.require_manager(call, application_id))


@handles(keys_wire.RESTORE_SIGNING_KEY)
def restore_signing_key(call: Call, application_id: ApplicationId) -> keys_wire.KeyRollover:
    """Restore the previous signing key of an application."""
    keys.switch_back(call, rules.require_manager(call, application_id))
    return keys.view(call, rules.require_manager(call, application_id))


@handles(keys_wire.DELETE_KEY_ROLLOVER)
def delete_key_rollover(call: Call, application_id: ApplicationId) -> None:
    """Delete the next or previous signing key of an application.

    The key in use does not change."""
    keys.finish_rollover(call, rules.require_manager(call, application_id))


def _require_current_application(call: Call) -> ApplicationRow:
    row = store.find_by_bot(call.tx, call.user_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    return row


_URL_FIELDS = (
    "custom_install_url",
    "interactions_endpoint_url",
    "role_connections_verification_url",
    "event_webhooks_url",
)
"""Settings that are URLs, and that a bot may change."""
_OWNER_URL_FIELDS = ("terms_of_service_url", "privacy_policy_url")
"""Settings that are URLs, and that a bot may not change."""
_DIRECT_FIELDS = (
    "install_params",
    "event_webhooks_types",
    "event_webhooks_status",
    "explicit_content_filter",
    "max_participants",
)
"""Settings that are copied from the request body; null resets a setting to its default."""


async def _verify_and_update(
    operation: AsyncOperation, require_application: Callable[[Call], ApplicationRow], body: wire.UpdateApplication
) -> wire.Application:
    """Verify the endpoint URLs of the request body, then update the application that `require_application` returns."""
    await endpoints.require_verified_endpoints(operation, require_application, body)
    return await operation.write(lambda call: _apply_changes(call, require_application(call), body))


def _apply_changes(call: Call, row: ApplicationRow, body: wire.UpdateApplication) -> wire.Application:
    settings = views.decode_settings(row)
    default_settings = views.ApplicationSettings()
    for name in _URL_FIELDS:
        if (value := getattr(body, name)) is not UNSET:
            setattr(settings, name, rules.require_valid_url(name, value))
    for name in _DIRECT_FIELDS:
        if (value := getattr(body, name)) is not UNSET:
            setattr(settings, name, getattr(default_settings, name) if value is None else value)
    rules.require_valid_event_webhooks(settings, body)
    rules.adjust_event_webhooks_status(settings, body)
    if isinstance(body.install_params, wire.InstallParams):
        rules.require_valid_install_params(body.install_params)
    is_user = call.actor.kind == "user"
    if is_user and isinstance(body, wire.ManageApplication):
        row = _apply_user_changes(call, row, settings, body)
    row = row._replace(settings=codec.encode(settings).decode())
    if body.description is not UNSET:
        description = (
            body.description.default if isinstance(body.description, wire.LocalizedDescription) else body.description
        )
        row = row._replace(description=description or "")
    if body.icon is not UNSET:
        row = row._replace(icon=body.icon.hash if body.icon else None)
    if body.cover_image is not UNSET:
        row = row._replace(cover_image=body.cover_image.hash if body.cover_image else None)
    if body.tags is not UNSET:
        row = row._replace(tags=codec.encode(body.tags or []).decode())
    if body.integration_types_config is not UNSET:
        configurations = body.integration_types_config or {}
        rules.require_valid_integration_types_config(configurations)
        stored_configurations: dict[str, Any] = {key: value or {} for key, value in configurations.items()}
        row = row._replace(integration_types_config=codec.encode(stored_configurations).decode())
    if body.flags is not UNSET and body.flags is not None:
        previous_flags = row.flags
        row = row._replace(flags=rules.apply_requested_flags(call, row, body.flags))
        if row.flags & ~previous_flags:
            call.notify(IntentsEnabled(ApplicationId(row.id)))
    actions.update(call, row)
    if body.event_webhooks_url is not UNSET or body.event_webhooks_status is not UNSET:
        call.notify(EventWebhooksSet(ApplicationId(row.id)))
    if body.interactions_endpoint_url is not UNSET:
        call.notify(InteractionsEndpointSet(ApplicationId(row.id)))
    return views.application(call, row, for_user=is_user)


def _apply_user_changes(
    call: Call, row: ApplicationRow, settings: views.ApplicationSettings, body: wire.ManageApplication
) -> ApplicationRow:
    """Apply the changes that require a user token: modify `settings` and return the changed row."""
    for name in _OWNER_URL_FIELDS:
        if (value := getattr(body, name)) is not UNSET:
            setattr(settings, name, rules.require_valid_url(name, value))
    if body.name is not UNSET:
        row = row._replace(name=users.names.require_bot_name(body.name, "name"))
    if body.bot_public is not UNSET:
        row = row._replace(bot_public=int(body.bot_public))
    if body.bot_require_code_grant is not UNSET:
        row = row._replace(bot_require_code_grant=int(body.bot_require_code_grant))
    if body.redirect_uris is not UNSET:
        uris = redirects.require_valid_redirects(body.redirect_uris or [], row.id)
        row = row._replace(redirect_uris=codec.encode(uris).decode())
    if body.rpc_origins is not UNSET:
        settings.rpc_origins = rules.require_valid_rpc_origins(body.rpc_origins or [])
    if body.channel_obfuscation is not UNSET:
        row = row._replace(obfuscates_channels=int(body.channel_obfuscation))
    if body.public_client is not UNSET:
        public_flag = ApplicationFlags.PUBLIC_OAUTH2_CLIENT
        rules.require_family_client_type(call, row, body.public_client)
        row = row._replace(flags=row.flags | public_flag if body.public_client else row.flags & ~public_flag)
    if body.activities is not UNSET and body.activities is not bool(row.flags & ApplicationFlags.EMBEDDED):
        row = row._replace(flags=row.flags ^ ApplicationFlags.EMBEDDED)
        call.notify(ActivitiesToggled(row))
    if body.accept_social_layer_terms is True and settings.social_layer_terms_ms is None:
        settings.social_layer_terms_ms = call.now_ms
        if not row.flags & ApplicationFlags.SOCIAL_LAYER_INTEGRATION:
            row = row._replace(flags=row.flags | ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED)
    return row
