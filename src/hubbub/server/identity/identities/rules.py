"""Rules for provisional accounts, the clients that create them, merges and application families."""

import hashlib
import hmac

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.flags import ApplicationFlags, UserFlags
from hubbub.protocol.resources import identities as wire
from hubbub.protocol.scopes import SOCIAL_LAYER_FLAGS
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.identity import accounts, applications, oauth2, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.identities import store
from hubbub.server.identity.identities.store import ProvisionalRow


def is_provisional(row: users.UserRow | None) -> bool:
    """Return whether a user is a provisional account; False for None."""
    return row is not None and bool(row.flags & UserFlags.PROVISIONAL_ACCOUNT)


def require_provisional_accounts_enabled(application: ApplicationRow) -> None:
    """Reject an application without the social layer, and a game of a publisher.

    Only the publisher creates the provisional accounts of its games (spec/sdk.md#8.7)."""
    if not application.flags & SOCIAL_LAYER_FLAGS or application.parent_id is not None:
        raise errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED()


def require_client(call: Call, application_id: int, secret: str | None | UnsetType) -> ApplicationRow:
    """Return the application if the client secret is right, or absent for a public client.

    Raise UNKNOWN_APPLICATION, PROVISIONAL_ACCOUNTS_NOT_ENABLED or INVALID_CLIENT_SECRET."""
    row = applications.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    require_provisional_accounts_enabled(row)
    require_secret(call, row, secret)
    return row


def require_secret(call: Call, application: ApplicationRow, secret: str | None | UnsetType) -> None:
    """Raise INVALID_CLIENT_SECRET unless the secret is right, or absent for a public client."""
    if not isinstance(secret, str) or not secret:
        if not oauth2.credentials.is_public_client(application):
            raise errors.INVALID_CLIENT_SECRET()
        return
    stored_hash = applications.management.find_client_secret_hash(call.tx, application.id)
    presented_hash = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
    if stored_hash is None or not hmac.compare_digest(stored_hash, presented_hash):
        raise errors.INVALID_CLIENT_SECRET()


def require_bot_application(call: Call) -> ApplicationRow:
    """Return the calling bot's application, which must be allowed to have provisional accounts."""
    row = None if call.actor.application_id is None else applications.find(call.tx, call.actor.application_id)
    if row is None:
        raise errors.PROVISIONAL_ACCOUNTS_NOT_ENABLED()
    require_provisional_accounts_enabled(row)
    return row


def require_unrestricted(call: Call, row: ProvisionalRow) -> None:
    """Reject a provisional account that replaced an account which is still banned."""
    if row.restricted_by is not None and accounts.is_banned(call, row.restricted_by):
        raise errors.MERGE_SOURCE_BANNED()


def is_restricted(call: Call, user_id: int) -> bool:
    """Return whether an account is a provisional account that replaced an account which is still banned.

    Messages and friends of a restricted account stay within its game (spec/sdk.md#8.6, spec/sdk.md#11.3)."""
    row = store.find_provisional(call.tx, user_id)
    return row is not None and row.restricted_by is not None and accounts.is_banned(call, row.restricted_by)


def require_merge_allowance(call: Call, application: ApplicationRow, user_id: int) -> None:
    """Raise RATE_LIMITED for a user who merged too often in the last 24 hours.

    Developers and testers of the application are exempt (spec/sdk.md#8.5)."""
    merge_times_ms = store.list_merge_times(call.tx, user_id, call.now_ms - DAY_MS)
    if len(merge_times_ms) < wire.MERGES_PER_DAY_MAX:
        return
    if applications.access.is_developer_or_tester(call, application, user_id):
        return
    wait_ms = merge_times_ms[-wire.MERGES_PER_DAY_MAX] + DAY_MS - call.now_ms
    raise errors.RATE_LIMITED(retry_after=wait_ms / 1000, **{"global": False})


def find_publisher_problem(call: Call, child: ApplicationRow, parent: ApplicationRow) -> str | None:
    """Return why an application cannot become a publisher's game, as a text for the operator, or None."""
    if child.id == parent.id:
        return "an application cannot be its own publisher"
    if child.parent_id is not None:
        return f"{child.name} already has a publisher, and that cannot be undone"
    if parent.parent_id is not None:
        return f"{parent.name} is itself a game of a publisher"
    if applications.families.list_child_ids(call.tx, child.id):
        return f"{child.name} is itself a publisher"
    if oauth2.credentials.is_public_client(child) is not oauth2.credentials.is_public_client(parent):
        return "a publisher and its games must have the same client type: all public or all confidential"
    return None


def is_publisher(flags: int) -> bool:
    """Return whether application flags contain the flag of a publisher, which only signs users in for its games."""
    return bool(flags & ApplicationFlags.PARENT)
