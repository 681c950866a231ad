"""Build the wire models of expressions for a caller, with their creators if the caller may see them."""

from collections.abc import Sequence

from msgspec import UNSET

from hubbub.protocol.ids import EmojiId
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places.expressions import rules
from hubbub.server.places.expressions.kinds import ExpressionKind, ViewT
from hubbub.server.places.expressions.store import EmojiRow, RowT
from hubbub.server.places.standing import GuildAccess


def for_member(call: Call, kind: ExpressionKind[RowT, ViewT], standing: GuildAccess, row: RowT) -> ViewT:
    """Build an expression of a guild for the member with the access `standing`."""
    return with_creators(call.tx, kind, [row])[0] if rules.can_see_creators(call, standing) else kind.view(row)


def list_for_member(call: Call, kind: ExpressionKind[RowT, ViewT], standing: GuildAccess) -> list[ViewT]:
    """Build all expressions of one kind of a guild for the member with the access `standing`."""
    if rules.can_see_creators(call, standing):
        return with_creators(call.tx, kind, kind.table.list_by(call.tx, guild_id=standing.guild_id))
    return kind.list_guild_expressions(call.tx, standing.guild_id)


def with_creators(tx: Tx, kind: ExpressionKind[RowT, ViewT], rows: Sequence[RowT]) -> list[ViewT]:
    """Build expressions with their creators. The creator is omitted if the user was deleted."""
    users_by_id = users.find_many(tx, [row.user_id for row in rows])
    creators_by_id = {user_id: users.user_view(user) for user_id, user in users_by_id.items()}
    expression_views = [kind.view(row) for row in rows]
    for row, view in zip(rows, expression_views, strict=True):
        view.user = creators_by_id.get(row.user_id, UNSET)
    return expression_views


def partial_emoji(row: EmojiRow) -> PartialEmoji:
    """Build the partial emoji of polls and sounds."""
    return PartialEmoji(id=EmojiId(row.id), name=row.name, animated=True if row.animated else UNSET)
