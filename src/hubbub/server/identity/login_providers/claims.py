"""Mapping of the claims of a provider to a user, with the claim names of the provider's settings."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hubbub.protocol.resources.accounts import EMAIL_MAX
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, USERNAME_MAX, USERNAME_MIN
from hubbub.server.core.login_config import LoginProviderConfig

_EMAIL_PATTERN: Final = re.compile(r"[^@\s\"(),:;<>\[\\\]]+@([^@\s\"(),:;<>\[\\\]]+)")


class ProviderUser(NamedTuple):
    """A user that a provider authenticated."""

    issuer: str
    subject: str
    """ID of the user at the provider."""
    username: str
    """Valid username that is derived from the username at the provider; empty if there is none."""
    global_name: str
    """Display name; empty if the provider sent none."""
    email: str | None
    """Email address in lower case; None if the provider sent no valid address."""
    is_email_verified: bool
    """Whether the provider verified the address."""
    methods: frozenset[str]
    """Authentication methods that the provider used (RFC 8176)."""

    @property
    def label(self) -> str:
        """Text by which the user recognizes the identity."""
        return self.email or self.global_name or self.username or self.subject[:64]


def read_user(provider: LoginProviderConfig, subject: str, claims: Mapping[str, Any]) -> ProviderUser:
    """Build a user from the claims of an ID token and of the userinfo endpoint."""
    email = read_text(claims, provider.email_claim).lower()
    if len(email) > EMAIL_MAX or _EMAIL_PATTERN.fullmatch(email) is None:
        email = ""
    methods = claims.get("amr")
    return ProviderUser(
        issuer=provider.issuer,
        subject=subject,
        username=suggest_username(read_text(claims, provider.username_claim)),
        global_name=re.sub(r"\s+", " ", read_text(claims, provider.name_claim))[:GLOBAL_NAME_MAX].strip(),
        email=email or None,
        # The claim describes only the claim `email`. Some providers send it as a string.
        is_email_verified=bool(email)
        and email == read_text(claims, "email").lower()
        and claims.get("email_verified") in (True, "true"),
        methods=frozenset(
            method for method in (methods if isinstance(methods, list) else []) if isinstance(method, str)
        ),
    )


def merge(userinfo: Mapping[str, Any], token_claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of an ID token, completed by the claims of the userinfo endpoint.

    A verification of the userinfo endpoint does not apply to another address of the ID token."""
    merged_claims = {**userinfo, **token_claims}
    if merged_claims.get("email") != userinfo.get("email") and "email_verified" not in token_claims:
        merged_claims.pop("email_verified", None)
    return merged_claims


def needs_userinfo(provider: LoginProviderConfig, claims: Mapping[str, Any]) -> bool:
    """Return whether a claim that the settings map is missing, so that the userinfo endpoint may have it."""
    claim_names = {provider.username_claim, provider.name_claim, provider.email_claim}
    return any(name not in claims for name in claim_names)


def is_allowed(provider: LoginProviderConfig, user: ProviderUser) -> bool:
    """Return whether the settings of the provider allow the user.

    If they list email domains, the user needs an address of such a domain that the provider verified."""
    if not provider.allowed_email_domains:
        return True
    if user.email is None or not user.is_email_verified:
        return False
    return user.email.rpartition("@")[2] in provider.allowed_email_domains


def suggest_username(provider_username: str) -> str:
    """Return a valid username that resembles a text, or an empty string. The part after an @ is left out."""
    name = re.sub(r"[^a-z0-9._]+", "_", provider_username.partition("@")[0].strip().lower())
    name = re.sub(r"\.{2,}", ".", name)[:USERNAME_MAX].strip("_")
    return name if len(name) >= USERNAME_MIN else ""


def read_text(claims: Mapping[str, Any], name: str) -> str:
    """Return a claim that is a text, trimmed; an empty string if it is missing or has another type."""
    claim = claims.get(name)
    return claim.replace("\x00", "").strip() if isinstance(claim, str) else ""
