"""Listeners that send mail about logins and account changes, and delete the data of deleted users."""

import hashlib
import ipaddress
from typing import Final

from hubbub.protocol import codec
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.account_emails import actions, limits, store
from hubbub.server.identity.accounts.signals import (
    AccountRegistered,
    BackupCodesReplaced,
    PasswordChanged,
    SecondFactorChanged,
    SignedIn,
)
from hubbub.server.identity.administration.signals import DeletionCanceled, DeletionScheduled, UserSuspended
from hubbub.server.identity.login_providers.signals import IdentityLinked, IdentityUnlinked
from hubbub.server.identity.passkeys.signals import PasskeyCreated, PasskeyDeleted
from hubbub.server.identity.registration_administration.signals import RegistrationApproved, RegistrationRejected
from hubbub.server.identity.users.signals import UserDeleting

_IPV4_PREFIX_LENGTH: Final = 24
"""Number of leading bits of an IPv4 address that identify the network of a client."""
_IPV6_PREFIX_LENGTH: Final = 48
"""Number of leading bits of an IPv6 address that identify the network of a client."""


def on_account_registered(call: Call, signal: AccountRegistered) -> None:
    """Send the link that confirms the address of a new account.

    Above a limit no mail is sent, but the registration succeeds; the user can request the link later."""
    if not call.config.mail.is_enabled or signal.email is None:
        return
    if limits.try_consume(call, limits.address_counter(signal.email), limits.ip_counter(call.ip)):
        actions.enqueue_confirmation(call, signal.user_id)


def on_signed_in(call: Call, signal: SignedIn) -> None:
    """Report a login from a client that the user has not used before, except for the first client."""
    if not call.config.mail.is_enabled:
        return
    had_known_client = store.has_known_client(call.tx, signal.user_id)
    is_known_client = store.record_client(call.tx, signal.user_id, _client_hash(signal), call.now_ms)
    row = users.find(call.tx, signal.user_id)
    if had_known_client and not is_known_client and row is not None:
        actions.enqueue_notice(call, row, "new_login", ip=signal.ip, user_agent=signal.user_agent)


def on_password_changed(call: Call, signal: PasswordChanged) -> None:
    """Invalidate links that reset the password, and report the change."""
    store.delete_tokens(call.tx, signal.user_id, "reset")
    actions.notify_user(call, signal.user_id, "password_changed")


def on_second_factor_changed(call: Call, signal: SecondFactorChanged) -> None:
    """Report that two-factor authentication was enabled or disabled."""
    actions.notify_user(call, signal.user_id, "second_factor_on" if signal.is_enabled else "second_factor_off")


def on_backup_codes_replaced(call: Call, signal: BackupCodesReplaced) -> None:
    """Report that the backup codes were replaced."""
    actions.notify_user(call, signal.user_id, "backup_codes_replaced")


def on_passkey_created(call: Call, signal: PasskeyCreated) -> None:
    """Report a new passkey."""
    actions.notify_user(call, signal.user_id, "passkey_created", name=signal.name)


def on_passkey_deleted(call: Call, signal: PasskeyDeleted) -> None:
    """Report that a passkey was deleted."""
    actions.notify_user(call, signal.user_id, "passkey_deleted", name=signal.name)


def on_identity_linked(call: Call, signal: IdentityLinked) -> None:
    """Report that a login at an external provider was linked."""
    actions.notify_user(call, signal.user_id, "login_linked", provider=signal.provider_name)


def on_identity_unlinked(call: Call, signal: IdentityUnlinked) -> None:
    """Report that a login at an external provider was unlinked."""
    actions.notify_user(call, signal.user_id, "login_unlinked", provider=signal.provider_name)


def on_registration_approved(call: Call, signal: RegistrationApproved) -> None:
    """Report that an operator approved the registration."""
    actions.notify_user(call, signal.user_id, "registration_approved")


def on_registration_rejected(call: Call, signal: RegistrationRejected) -> None:
    """Report that an operator rejected the registration, with the reason."""
    actions.notify_user(call, signal.user_id, "registration_rejected", reason=signal.reason or "")


def on_user_suspended(call: Call, signal: UserSuspended) -> None:
    """Report that an operator suspended the account, with the reason and the end."""
    end_text = "" if signal.ends_ms is None else codec.timestamp(signal.ends_ms)
    actions.notify_user(call, signal.user_id, "account_suspended", reason=signal.reason or "", ends=end_text)


def on_deletion_scheduled(call: Call, signal: DeletionScheduled) -> None:
    """Report that an operator scheduled the deletion of the account."""
    actions.notify_user(call, signal.user_id, "deletion_scheduled", due=codec.timestamp(signal.due_ms))


def on_deletion_canceled(call: Call, signal: DeletionCanceled) -> None:
    """Report that an operator canceled the deletion of the account."""
    actions.notify_user(call, signal.user_id, "deletion_canceled")


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Report the deletion of an account, and delete its data."""
    actions.notify_user(call, signal.user_id, "account_deleted")
    actions.delete_user_data(call, signal.user_id)


def _client_hash(signal: SignedIn) -> bytes:
    """Return the hash of a client: its user agent and its network, because addresses within a network change often."""
    try:
        address = ipaddress.ip_address(signal.ip)
        prefix_length = _IPV4_PREFIX_LENGTH if address.version == 4 else _IPV6_PREFIX_LENGTH
        network = str(ipaddress.ip_network((address, prefix_length), strict=False))
    except ValueError:
        network = signal.ip
    return hashlib.sha256(f"{network}\n{signal.user_agent}".encode("utf-8", "surrogatepass")).digest()
