"""Verification of a credential with the provider that the application configured."""

from typing import NamedTuple

from hubbub.protocol import errors
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.identity.identity_providers import actions, store
from hubbub.server.identity.identity_providers.providers import VERIFIERS, ProviderQuery, VerifiedIdentity
from hubbub.server.identity.identity_providers.store import ProviderRow
from hubbub.server.identity.identity_providers.tokens.issuers import IssuerValidation


class _LoadedConfiguration(NamedTuple):
    row: ProviderRow | None
    config: Config
    now_ms: int


async def verify(operation: AsyncOperation, application_id: int, auth_type: str, credential: str) -> VerifiedIdentity:
    """Return the identity of a credential, verified with the provider that the application configured.

    `auth_type` is a key of `VERIFIERS`. Raise the error codes of spec/sdk.md#8.4."""
    verifier = VERIFIERS[auth_type]

    def load(call: Call) -> _LoadedConfiguration:
        return _LoadedConfiguration(store.find(call.tx, application_id, verifier.type), call.config, call.now_ms)

    configuration = await operation.read(load)
    if configuration.row is None:
        raise errors.OIDC_DISCOVERY_UNREACHABLE(message=f"The application has no {verifier.type} provider")
    query = ProviderQuery(
        settings=actions.decode_settings(configuration.row),
        credential=credential,
        config=configuration.config,
        now_ms=configuration.now_ms,
        # The rules under which the configuration was saved apply until it is edited.
        validation=IssuerValidation(configuration.row.level),
    )
    return await verifier.verify(operation, query)
