"""Store the identity provider configurations of applications."""

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.call import Call
from hubbub.server.identity.identity_providers import store
from hubbub.server.identity.identity_providers.store import ProviderRow
from hubbub.server.identity.identity_providers.tokens.issuers import IssuerValidation


class ProviderSettings(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The stored settings of a provider, encoded as JSON. Add fields with a default, never rename."""

    clients: list[wire.ProviderClient]
    oidc_issuer_url: str | None = None

    def issuer_of(self, client: wire.ProviderClient) -> str:
        """Return the issuer of a client's tokens, or an empty string for providers without a configured issuer."""
        return client.oidc_issuer_url or self.oidc_issuer_url or ""


def save_provider(
    call: Call, application_id: int, type: str, settings: ProviderSettings, validation: IssuerValidation
) -> ProviderRow:
    """Store a provider configuration, with the validation that its issuer URLs passed."""
    settings_json = codec.encode(settings).decode()
    row = ProviderRow(application_id, type, settings_json, validation, call.now_ms)
    store.put(call.tx, row)
    return row


def decode_settings(row: ProviderRow) -> ProviderSettings:
    return codec.decode(row.settings, ProviderSettings)
