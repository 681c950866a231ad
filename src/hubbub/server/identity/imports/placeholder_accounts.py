"""Placeholder accounts: accounts without a login for the members and authors of an imported guild."""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

from hubbub.protocol.resources.users import GLOBAL_NAME_MAX
from hubbub.server.core import meta
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.identity.imports import store
from hubbub.server.identity.imports.store import PlaceholderRow
from hubbub.server.identity.users import UserRow

CODE_BYTES: Final = 15
"""Length of a claim code in bytes: 24 characters of base32."""
CODE_GROUP_LENGTH: Final = 6
"""Number of characters between two hyphens of a claim code."""

_CLAIM_KEY_NAME: Final = "claim_key"


def create(tx: Tx, guild_id: int, rows: Iterable[UserRow]) -> None:
    """Create placeholder accounts. Their IDs are assigned already. Existing accounts are skipped.

    A row has the name that the user had on the other server. The account gets a name that no user can register, so it
    never occupies the name of a user of this server, and shows the original name as its display name."""
    claim_key = meta.find_or_create_key(tx, _CLAIM_KEY_NAME)
    placeholder_rows: list[PlaceholderRow] = []
    for row in rows:
        if users.find(tx, row.id) is not None:
            continue
        name = users.names.clean_name(row.global_name or row.username)[:GLOBAL_NAME_MAX].strip()
        users.insert(tx, row._replace(username=f"placeholder-{int(row.id)}", global_name=name or "Unknown"))
        code_hash = _hash_code(_compute_code(claim_key, row.id))
        placeholder_rows.append(PlaceholderRow(row.id, guild_id, row.username, row.global_name, code_hash))
    store.insert_placeholders(tx, placeholder_rows)


def derive_code(tx: Tx, user_id: int) -> str:
    """Return the claim code of a placeholder account, or an empty string if the server has no key for claim codes.

    The code is derived from the server's key and not stored."""
    claim_key = meta.find_key(tx, _CLAIM_KEY_NAME)
    return "" if claim_key is None else _compute_code(claim_key, user_id)


def find_by_code(tx: Tx, code: str) -> PlaceholderRow | None:
    """Return the placeholder account with a claim code, or None; case, spaces and hyphens are ignored."""
    plain_code = "".join(code.split()).replace("-", "").upper()
    groups = [plain_code[start : start + CODE_GROUP_LENGTH] for start in range(0, len(plain_code), CODE_GROUP_LENGTH)]
    return store.find_by_code(tx, _hash_code("-".join(groups)))


def _compute_code(claim_key: bytes, user_id: int) -> str:
    digest = hmac.digest(claim_key, f"claim:{int(user_id)}".encode(), hashlib.sha256)
    characters = base64.b32encode(digest[:CODE_BYTES]).decode()
    return "-".join(
        characters[start : start + CODE_GROUP_LENGTH] for start in range(0, len(characters), CODE_GROUP_LENGTH)
    )


def _hash_code(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "replace")).digest()
