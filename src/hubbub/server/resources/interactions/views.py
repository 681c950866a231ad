"""An interaction as the app hears it."""

from functools import lru_cache
from typing import cast

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes
from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, InteractionId, RoleId, Snowflake
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.channels import AnyChannel, Channel
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.users import User
from hubbub.server.core import access
from hubbub.server.resources import channels, entitlements, members, messages, users
from hubbub.server.resources.interactions import rules, speakers
from hubbub.server.resources.interactions.asking import Question, Scene
from hubbub.server.resources.interactions.store import InteractionRow


def interaction(scene: Scene, question: Question, token: str) -> wire.Interaction:
    """What a person asks of an application."""
    call, here, person, bot = scene.call, scene.here, scene.person, scene.bot
    channel = here.channel
    there = scene.there
    basics = 0
    if bot is None and channel.guild_id is not None:
        basics = access.permissions_in(call.tx, speakers.everyone(call, channel.guild_id), channel.ruling_id)
    # A member is shown with their user.
    user = users.user(person.user) if here.guild is None or person.member is None else None
    owned = entitlements.active_for(call, scene.application.id, call.user_id, channel.guild_id) if scene.sells else []
    shown = wire.Interaction(
        id=scene.interaction_id,
        application_id=ApplicationId(scene.application.id),
        type=question.type,
        token=token,
        data=question.data,
        channel_id=ChannelId(channel.id),
        channel=_guild_channel(there.channel) if here.guild is not None else _channel(there.channel, user),
        locale=person.user.locale,
        entitlements=owned,
        entitlement_sku_ids=[Snowflake(each.sku_id) for each in owned],
        app_permissions=rules.app_permissions(here, scene.place, bot, basics, question.owners, call.now),
        authorizing_integration_owners=messages.views.shown_owners(question.owners, call.now),
        context=int(scene.place),
    )
    if changes.PER_ATTACHMENT_LIMIT.active(call.now):
        # http.md 1.11: the larger of the person's and the guild's limit.
        shown.attachment_size_limit = messages.file_bytes_max(call, person, app=True)
    if question.message is not None:
        shown.message = question.message
    if here.guild is None or person.member is None:
        shown.user = UNSET if user is None else user
        return shown
    locale = there.locale or ""
    shown.guild_id = here.guild.guild_id
    shown.guild = wire.InteractionGuild(
        id=here.guild.guild_id, features=list(_features(there.features or "[]")), locale=locale
    )
    shown.guild_locale = locale
    shown.member = _member(person.member, tuple(access.role_ids(here.guild)), person.user, here.permissions)
    return shown


def _channel(row: channels.ChannelRow, user: User | None) -> AnyChannel:
    """Where it is asked: a partial channel, without the overwrites, which are not looked up for it."""
    shown = channels.any_channel(row, recipients=() if user is None else (user,))
    if isinstance(shown, Channel):
        shown.permission_overwrites = UNSET
    return shown


# Somebody asks more than once, and of one place many do: what is told of both follows from their rows alone, and is encoded once.


@lru_cache(maxsize=1024)
def _guild_channel(row: channels.ChannelRow) -> AnyChannel:
    return cast("AnyChannel", msgspec.Raw(json.encode(_channel(row, None))))


@lru_cache(maxsize=1024)
def _member(row: members.MemberRow, roles: tuple[RoleId, ...], user: users.UserRow, permissions: int) -> Member:
    shown = members.member(members.Membership(row, roles, user), permissions)
    return cast("Member", msgspec.Raw(json.encode(shown)))


@lru_cache(maxsize=1024)
def _features(kept: str) -> tuple[str, ...]:
    return tuple(json.decode(kept, list[str]))


def failed(row: InteractionRow) -> wire.FailedInteraction:
    """What its application's own address did not answer."""
    return wire.FailedInteraction(
        id=InteractionId(row.id),
        type=row.type,
        channel_id=ChannelId(row.channel_id),
        guild_id=UNSET if row.guild_id is None else GuildId(row.guild_id),
        error=row.problem or "",
    )
