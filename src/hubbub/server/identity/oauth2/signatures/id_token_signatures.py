"""Signatures of ID tokens; they are computed outside of the database threads."""

from typing import Any

from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.identity.oauth2 import store
from hubbub.server.identity.oauth2.signatures import keys
from hubbub.server.identity.oauth2.store import KeyRow


async def sign_id_token(operation: AsyncOperation, claims: dict[str, Any]) -> str:
    key = await find_or_create_signing_key(operation)
    if keys.algorithm_of(key.jwk) == keys.ES256:
        # Signing is faster than switching to another thread.
        return keys.sign(key.kid, key.jwk, claims)
    return await operation.run_in_thread(keys.sign, key.kid, key.jwk, claims)


async def find_or_create_signing_key(operation: AsyncOperation) -> KeyRow:
    """Return the current signing key. Create a key if no key may still sign."""
    key, algorithm = await operation.read(
        lambda call: (_find_signing_key(call), call.config.identity.id_token_algorithm)
    )
    if key is not None:
        return key
    kid, jwk = await operation.run_in_thread(keys.generate_key, algorithm)

    def store_key(call: Call) -> KeyRow:
        # Another request may have created a key in the meantime.
        if (key := _find_signing_key(call)) is not None:
            return key
        row = KeyRow(kid, jwk, call.now_ms)
        store.insert_key(call.tx, row, keep_since_ms=call.now_ms - keys.PUBLICATION_PERIOD_MS)
        return row

    return await operation.write(store_key)


def _find_signing_key(call: Call) -> KeyRow | None:
    """Return the newest key of the configured algorithm that may still sign, or None."""
    algorithm = call.config.identity.id_token_algorithm
    rows = store.list_keys(call.tx, call.now_ms - keys.SIGNING_PERIOD_MS)
    return next((row for row in rows if keys.algorithm_of(row.jwk) == algorithm), None)
