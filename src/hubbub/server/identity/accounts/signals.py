"""Signals that the accounts slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class AccountUnbanned(msgspec.Struct, frozen=True, kw_only=True):
    """A ban of an account was lifted before it ended."""

    user_id: UserId


class AccountRegistered(msgspec.Struct, frozen=True, kw_only=True):
    """A user registered an account, which an operator may still have to approve."""

    user_id: UserId
    email: str | None


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """A user token was issued to a client."""

    user_id: UserId
    ip: str
    user_agent: str
    """User-Agent header of the client; empty if it sent none."""


class PasswordChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A user set, changed or reset their password."""

    user_id: UserId


class BackupCodesReplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A user replaced their backup codes."""

    user_id: UserId


class SecondFactorChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Two-factor authentication of an account was enabled or disabled."""

    user_id: UserId
    is_enabled: bool
