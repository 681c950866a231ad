"""Create, change, disable, enable and delete applications and their bots, and replace their secrets and tokens."""

import hashlib
import secrets

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.applications import InstallParams, IntegrationTypeConfiguration
from hubbub.server.core import auth
from hubbub.server.core.auth import Entropy
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.applications import keys, ports, store
from hubbub.server.identity.applications.addresses.redirects import require_valid_redirects
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.identity.applications.store import ApplicationRow, DisabledRow
from hubbub.server.identity.applications.views import ApplicationSettings
from hubbub.server.identity.users import UserRow

DEFAULT_INTEGRATION_TYPES = {
    "0": IntegrationTypeConfiguration(
        oauth2_install_params=InstallParams(scopes=["applications.commands", "bot"], permissions=Permissions(0))
    ),
    "1": IntegrationTypeConfiguration(
        oauth2_install_params=InstallParams(scopes=["applications.commands"], permissions=Permissions(0))
    ),
}
"""Default of `Application.integration_types_config`: installation in a guild ("0") and for a user ("1")."""


class CreatedApplication(msgspec.Struct, frozen=True):
    """A new application and its secrets. The secrets are not stored in plain text and cannot be read again."""

    row: ApplicationRow
    client_secret: str
    bot_token: str | None
    """Token of the bot, or None if the application has no bot."""


def create(
    call: Call,
    name: str,
    owner_id: UserId,
    *,
    application_id: ApplicationId | None = None,
    with_bot: bool = True,
    flags: int = 0,
    redirect_uris: list[str] | None = None,
    entropy: Entropy = secrets.token_bytes,
) -> CreatedApplication:
    """Create an application and, unless `with_bot` is False, a bot user with the same ID.

    Without `application_id`, a new ID is generated. `entropy` generates the signing key, the secret and the token."""
    application_id = application_id or call.new_id(ApplicationId)
    signing_key = Ed25519PrivateKey.from_private_bytes(entropy(32))
    client_secret = entropy(24).hex()
    row = ApplicationRow(
        id=application_id,
        name=name,
        description="",
        icon=None,
        cover_image=None,
        owner_id=owner_id,
        bot_id=UserId(application_id) if with_bot else None,
        flags=flags,
        bot_public=1,
        bot_require_code_grant=0,
        verify_key=signing_key.public_key().public_bytes_raw().hex(),
        redirect_uris=codec.encode(require_valid_redirects(redirect_uris or [], application_id)).decode(),
        tags="[]",
        integration_types_config=codec.encode(DEFAULT_INTEGRATION_TYPES).decode(),
        settings="{}",
    )
    store.insert(
        call.tx,
        row,
        signing_key=signing_key.private_bytes_raw(),
        client_secret_hash=hashlib.sha256(client_secret.encode()).digest(),
    )
    bot_token = None
    if row.bot_id is not None:
        users.insert(call.tx, _bot_user_row(row.bot_id, name))
        bot_token = reset_bot_token(call, row, entropy=entropy)
    return CreatedApplication(row, client_secret, bot_token)


def add_bot(call: Call, row: ApplicationRow) -> str:
    """Create the bot user of an application that has none. Return the bot's token."""
    row = row._replace(bot_id=UserId(row.id))
    users.insert(call.tx, _bot_user_row(UserId(row.id), row.name))
    store.update(call.tx, row)
    return reset_bot_token(call, row)


def reset_client_secret(call: Call, row: ApplicationRow) -> str:
    """Replace the client secret and return the new secret. The old secret becomes invalid."""
    client_secret = secrets.token_hex(24)
    store.set_client_secret(call.tx, row.id, hashlib.sha256(client_secret.encode()).digest())
    return client_secret


def delete(call: Call, row: ApplicationRow) -> None:
    """Delete an application and revoke its bot's tokens. Messages of the bot are kept.

    Listeners of `ApplicationDeleting` delete the rows of other slices that belong to the application. Raise an error of
    `require_deletable`."""
    require_deletable(call, row)
    call.notify(ApplicationDeleting(row))
    keys.delete(call.tx, row.id)
    if row.bot_id is not None:
        auth.revoke(call.tx, row.bot_id)
    store.delete(call.tx, row.id)


def require_deletable(call: Call, row: ApplicationRow) -> None:
    """Raise a form error for a publisher that has games, or an error of `ports.check_deletion`."""
    if len(store.list_family_ids(call.tx, row.id)) > 1 and row.parent_id is None:
        raise errors.invalid(
            "application_id",
            "APPLICATION_HAS_CHILDREN",
            "This application is the publisher of other applications. Remove them first.",
        )
    ports.check_deletion(call, row.id)


def disable(call: Call, row: ApplicationRow, disabled_row: DisabledRow) -> None:
    """Disable an application: end the gateway sessions of its tokens, which are invalid until it is enabled."""
    store.disable(call.tx, disabled_row)
    auth.end_application_sessions(call.tx, row.id)


def enable(call: Call, row: ApplicationRow) -> None:
    """Enable an application. Its tokens are valid again."""
    store.enable(call.tx, row.id)


def revoke_bot_tokens(call: Call, user_id: UserId) -> None:
    """Revoke the tokens of all bots whose applications the user owns. Their gateway sessions end."""
    for row in store.list_owned_applications(call.tx, user_id):
        if row.bot_id is not None:
            auth.revoke(call.tx, row.bot_id, kind="bot")


def reset_bot_token(call: Call, row: ApplicationRow, *, entropy: Entropy = secrets.token_bytes) -> str:
    """Replace the bot token and return the new token. The old token is revoked and its gateway sessions end."""
    assert row.bot_id is not None
    auth.revoke(call.tx, row.bot_id, kind="bot")
    return auth.issue(
        call.tx,
        kind="bot",
        user_id=row.bot_id,
        application_id=row.id,
        now=call.now_ms,
        ids=call.ids,
        entropy=entropy,
    )


def update(call: Call, row: ApplicationRow) -> None:
    """Store a changed application and invalidate the flags cached by nodes."""
    store.update(call.tx, row)
    if row.bot_id is not None:
        auth.publish_actor_changed(call.tx, row.bot_id)


def update_settings(call: Call, row: ApplicationRow, settings: ApplicationSettings) -> None:
    """Store the settings of an application after the platform changed them, for example removed an endpoint."""
    store.update(call.tx, row._replace(settings=codec.encode(settings).decode()))


def _bot_user_row(bot_id: UserId, name: str) -> UserRow:
    # Bots have a four-digit discriminator because their usernames need not be unique.
    discriminator = f"{int.from_bytes(hashlib.sha256(str(int(bot_id)).encode()).digest()[:4], 'big') % 9999 + 1:04d}"
    return UserRow(
        id=bot_id,
        username=users.names.require_bot_name(name, "name"),
        discriminator=discriminator,
        bot=1,
        verified=1,
    )
