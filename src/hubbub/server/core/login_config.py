"""Settings of the external login: identity providers at which users log in (decisions/0143)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

_NAME_PATTERN: Final = r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"
_DOMAIN_PATTERN: Final = r"^[a-z0-9-]+(\.[a-z0-9-]+)+$"

Claim = Annotated[str, Meta(min_length=1, max_length=128)]
Domain = Annotated[str, Meta(pattern=_DOMAIN_PATTERN, max_length=253)]


class LoginProviderConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OpenID Connect provider at which users of this server log in."""

    id: Annotated[str, Meta(pattern=_NAME_PATTERN)]
    """The name of the provider in URLs: lowercase letters, digits and hyphens."""
    name: Annotated[str, Meta(min_length=1, max_length=40)]
    """The name on buttons."""
    issuer: Annotated[str, Meta(min_length=1, max_length=512)]
    """The issuer URL, exactly as in the provider's discovery document."""
    client_id: Annotated[str, Meta(min_length=1, max_length=256)]
    """The ID of the client that is registered at the provider."""
    client_secret: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    """The secret of the client; None for a public client."""
    client_secret_file: str | None = None
    """The path of a file with the secret, instead of `client_secret`."""
    scopes: tuple[Annotated[str, Meta(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]+$")], ...] = ("openid", "profile", "email")
    """The requested scopes; `openid` is required."""
    username_claim: Claim = "preferred_username"
    """The claim from which the username of a new account is suggested."""
    name_claim: Claim = "name"
    """The claim with the display name of a new account."""
    email_claim: Claim = "email"
    """The claim with the email address."""
    auto_register: bool = False
    """Whether users of the provider can create accounts regardless of the registration settings: also while registration is
    closed, and without an invite, an approval or an allowed email domain."""
    trust_email: bool = False
    """Whether an address that the provider verified counts as confirmed. A login then also links the provider to an existing
    account that confirmed the address."""
    allowed_email_domains: tuple[Domain, ...] = ()
    """Only users with a verified address of one of these domains can log in; empty allows all users of the provider."""
    second_factor_methods: tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...] = ()
    """The values of the `amr` claim that replace the two-factor code of an account; empty always asks for the code."""


class LoginConfig(msgspec.Struct, frozen=True, kw_only=True):
    """External login at identity providers."""

    providers: tuple[LoginProviderConfig, ...] = ()
    """The identity providers, in the order of their buttons: `[[login.providers]]` in the file, or a JSON list."""

    def find(self, provider_id: str) -> LoginProviderConfig | None:
        """Return the provider with this ID, or None."""
        return next((provider for provider in self.providers if provider.id == provider_id), None)

    def find_by_issuer(self, issuer: str) -> LoginProviderConfig | None:
        """Return the provider with this issuer, or None."""
        return next((provider for provider in self.providers if provider.issuer == issuer), None)


def load_providers(raw_providers: Any) -> tuple[LoginProviderConfig, ...]:
    """Return the providers of a setting with their secrets, or raise ValueError with the reason, which contains no secret."""
    try:
        if isinstance(raw_providers, str):
            providers = msgspec.json.decode(raw_providers, type=tuple[LoginProviderConfig, ...])
        else:
            providers = msgspec.convert(raw_providers, tuple[LoginProviderConfig, ...])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except msgspec.DecodeError:
        raise ValueError("the text is not a JSON list") from None
    for provider in providers:
        if (problem := _find_problem(provider)) is not None:
            raise ValueError(f"provider {provider.id}: {problem}")
    for field in ("id", "issuer"):
        field_values = [getattr(provider, field) for provider in providers]
        if repeated_value := _find_repeated(field_values):
            raise ValueError(f"two providers have the {field} {repeated_value}")
    return tuple(_read_secret(provider) for provider in providers)


def _find_problem(provider: LoginProviderConfig) -> str | None:
    parts = urlsplit(provider.issuer)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s?#@]", provider.issuer):
        return "issuer must be a URL that starts with https:// or http://, without a query"
    if "openid" not in provider.scopes:
        return "scopes must contain openid"
    if provider.client_secret is not None and provider.client_secret_file is not None:
        return "set client_secret or client_secret_file, not both"
    return None


def _find_repeated(values: Sequence[str]) -> str | None:
    return next((value for index, value in enumerate(values) if value in values[:index]), None)


def _read_secret(provider: LoginProviderConfig) -> LoginProviderConfig:
    if provider.client_secret_file is None:
        return provider
    try:
        secret = Path(provider.client_secret_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"provider {provider.id}: client_secret_file cannot be read") from None
    if not secret:
        raise ValueError(f"provider {provider.id}: client_secret_file is empty")
    return msgspec.structs.replace(provider, client_secret=secret)
