"""Signing ID tokens, away from the store's threads."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.work import Work
from hubbub.server.resources.oauth2 import keys, store
from hubbub.server.resources.oauth2.store import KeyRow


async def sign(work: Work, claims: dict[str, Any]) -> str:
    """Claims as an ID token."""
    key = await signing_key(work)
    return await work.heavy(keys.sign, key.kid, key.jwk, claims)


async def signing_key(work: Work) -> KeyRow:
    """The key that signs now; made when somebody first asks."""
    found = await work.read(lambda call: store.list_keys(call.tx, call.now - keys.SIGNS_MS))
    if found:
        return found[0]
    kid, jwk = await work.heavy(keys.generate)

    def keep(call: Call) -> KeyRow:
        # Somebody else may have been quicker.
        for row in store.list_keys(call.tx, call.now - keys.SIGNS_MS):
            return row
        row = KeyRow(kid, jwk, call.now)
        store.insert_key(call.tx, row, keep_since_ms=call.now - keys.SHOWN_MS)
        return row

    return await work.write(keep)
