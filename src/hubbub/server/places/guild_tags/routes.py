"""HTTP handlers for guild tags."""

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import guild_tags as wire
from hubbub.protocol.resources.users import MyUser
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.places.guild_tags import actions, store
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.standing import access


@handles(wire.GET_GUILD_PROFILE)
def get_guild_profile(call: Call, guild_id: GuildId) -> wire.GuildProfile:
    """Get the guild profile.

    The caller must be a member of the guild."""
    _require_tags_released(call)
    access.get_guild_standing(call, guild_id)
    return _guild_profile(call, _require_guild(call, guild_id))


@handles(wire.UPDATE_GUILD_PROFILE)
def update_guild_profile(call: Call, guild_id: GuildId, body: wire.UpdateGuildProfile) -> wire.GuildProfile:
    """Update the guild profile.

    The profile contains the guild tag; null removes the tag."""
    _require_tags_released(call)
    guild = _require_guild(call, guild_id)
    before = _guild_profile(call, guild)
    tag = before.tag if body.tag is UNSET else body.tag
    badge = before.badge if body.badge is UNSET else body.badge.hash if body.badge else None
    if tag is not None:
        if GuildFeature.GUILD_TAGS not in guild.feature_names:
            raise errors.MORE_BOOSTS_NEEDED()
        tag = tag.strip()
        if not tag:
            raise errors.invalid("tag", *errors.bad_length(wire.GUILD_TAG_MIN, wire.GUILD_TAG_MAX))
    after = wire.GuildProfile(id=before.id, name=before.name, tag=tag, badge=badge if tag is not None else None)
    actions.update_tag(call, before, after)
    return after


@handles(wire.SET_MY_GUILD_TAG)
def set_my_guild_tag(call: Call, body: wire.SetPrimaryGuild) -> MyUser:
    """Set the guild tag of the current user.

    The caller must be a member of the guild. Without a guild, the tag is removed. With `identity_enabled` false, the guild
    stays selected, but its tag is hidden."""
    _require_tags_released(call)
    user = users.find(call.tx, call.user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    guild_id = None if body.identity_guild_id is UNSET else body.identity_guild_id
    tag_row = None
    if guild_id is not None:
        access.get_guild_standing(call, guild_id)
        if body.identity_enabled is not False:
            tag_row = store.find(call.tx, guild_id)
            if tag_row is None or GuildFeature.GUILD_TAGS not in _require_guild(call, guild_id).feature_names:
                raise errors.invalid("identity_guild_id", "GUILD_TAG_UNAVAILABLE", "This server has no tag.")
    return users.my_user(actions.set_displayed_tag(call, user, tag_row, guild_id), call.actor)


def _require_tags_released(call: Call) -> None:
    """Raise NOT_FOUND before the date at which guild tags are introduced (spec/dated-changes.md#3)."""
    if not changes.GUILD_TAGS.is_active(call.now_ms):
        raise errors.NOT_FOUND()


def _require_guild(call: Call, guild_id: GuildId) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _guild_profile(call: Call, guild: GuildRow) -> wire.GuildProfile:
    row = store.find(call.tx, guild.id)
    return wire.GuildProfile(
        id=GuildId(guild.id), name=guild.name, tag=row.tag if row else None, badge=row.badge if row else None
    )
