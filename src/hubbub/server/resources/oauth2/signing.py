"""Signing ID tokens, away from the store's threads."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.work import Work
from hubbub.server.resources.oauth2 import keys, store
from hubbub.server.resources.oauth2.store import KeyRow


async def sign(work: Work, claims: dict[str, Any]) -> str:
    """Claims as an ID token."""
    key = await signing_key(work)
    if keys.algorithm_of(key.jwk) == keys.EC:
        # Done sooner than another thread would begin.
        return keys.sign(key.kid, key.jwk, claims)
    return await work.heavy(keys.sign, key.kid, key.jwk, claims)


async def signing_key(work: Work) -> KeyRow:
    """The key that signs now; made when somebody first asks."""
    found, algorithm = await work.read(lambda call: (_signing(call), call.config.identity.id_token_algorithm))
    if found is not None:
        return found
    kid, jwk = await work.heavy(keys.generate, algorithm)

    def keep(call: Call) -> KeyRow:
        # Somebody else may have been quicker.
        if (found := _signing(call)) is not None:
            return found
        row = KeyRow(kid, jwk, call.now)
        store.insert_key(call.tx, row, keep_since_ms=call.now - keys.SHOWN_MS)
        return row

    return await work.write(keep)


def _signing(call: Call) -> KeyRow | None:
    """The newest key of the algorithm that the operator wants."""
    wanted = call.config.identity.id_token_algorithm
    rows = store.list_keys(call.tx, call.now - keys.SIGNS_MS)
    return next((row for row in rows if keys.algorithm_of(row.jwk) == wanted), None)
