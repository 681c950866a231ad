"""Keeping whom an application believes."""

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.resources import identity_providers as wire
from hubbub.server.core.call import Call
from hubbub.server.resources.identity_providers import store
from hubbub.server.resources.identity_providers.store import ProviderRow

STRICT = 1
"""The level of what was judged by the rules of issuers."""


class Settings(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A provider as it is stored. Add fields with a default, never rename."""

    clients: list[wire.ProviderClient]
    oidc_issuer_url: str | None = None

    def issuer_of(self, client: wire.ProviderClient) -> str:
        """The issuer that a client's tokens come from."""
        return client.oidc_issuer_url or self.oidc_issuer_url or ""


def keep(call: Call, application_id: int, type: str, settings: Settings, *, strict: bool) -> ProviderRow:
    """Keep a provider, judged by the rules or not."""
    text = json.encode(settings).decode()
    row = ProviderRow(application_id, type, text, STRICT if strict else 0, call.now)
    store.put(call.tx, row)
    return row


def settings(row: ProviderRow) -> Settings:
    """A provider's settings."""
    return json.decode(row.settings, Settings)
