"""Verification of a credential with the provider that the application configured."""

from typing import NamedTuple

from hubbub.protocol import errors
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.identity.identity_providers import actions, store
from hubbub.server.identity.identity_providers.providers import PROVIDERS, ProviderQuery, VerifiedIdentity
from hubbub.server.identity.identity_providers.store import ProviderRow


class _Configuration(NamedTuple):
    row: ProviderRow | None
    config: Config
    now: int


async def verify(operation: AsyncOperation, application_id: int, auth_type: str, credential: str) -> VerifiedIdentity:
    """Return the identity of a credential. Raises the error codes of spec/sdk.md#8.4."""
    provider = PROVIDERS[auth_type]

    def load(call: Call) -> _Configuration:
        return _Configuration(store.find(call.tx, application_id, provider.type), call.config, call.now)

    configured = await operation.read(load)
    if configured.row is None:
        raise errors.OIDC_DISCOVERY_UNREACHABLE(message=f"The application has no {provider.type} provider")
    # An issuer saved under looser rules keeps them until it is edited.
    strict = configured.row.level >= actions.STRICT_LEVEL
    question = ProviderQuery(
        settings=actions.settings(configured.row),
        credential=credential,
        config=configured.config,
        now=configured.now,
        strict=strict,
    )
    return await provider.verify(operation, question)
