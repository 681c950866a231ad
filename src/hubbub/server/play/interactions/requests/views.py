"""Build the interaction that is delivered to an application."""

from functools import lru_cache
from typing import cast

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes, codec
from hubbub.protocol.ids import ApplicationId, ChannelId, RoleId, Snowflake
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.channels import AnyChannel, Channel
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.users import User
from hubbub.server.identity import users
from hubbub.server.places import channels, members
from hubbub.server.places.standing import access
from hubbub.server.play import entitlements
from hubbub.server.play.interactions import responders
from hubbub.server.play.interactions.requests import invocation_rules
from hubbub.server.play.interactions.requests.invocations import Invocation, PreparedInteraction
from hubbub.server.talk import messages


def interaction(invocation: Invocation, prepared_interaction: PreparedInteraction, token: str) -> wire.Interaction:
    """Build the interaction that is delivered to the application; `token` is its response token."""
    call, channel_access, invoker, bot_access = (
        invocation.call,
        invocation.channel_access,
        invocation.invoker,
        invocation.bot_access,
    )
    channel = channel_access.channel
    location = invocation.location
    everyone_permissions = 0
    if bot_access is None and channel.guild_id is not None:
        everyone_permissions = access.permissions_in(
            call.tx, responders.everyone_access(call, channel.guild_id), channel.overwrites_channel_id
        )
    # In guilds the user is part of the member object.
    user = users.user_view(invoker.user) if channel_access.guild is None or invoker.member is None else None
    active_entitlements = (
        entitlements.list_active_entitlements(call, invocation.application.id, call.user_id, channel.guild_id)
        if invocation.has_skus
        else []
    )
    view = wire.Interaction(
        id=invocation.interaction_id,
        application_id=ApplicationId(invocation.application.id),
        type=prepared_interaction.type,
        token=token,
        data=prepared_interaction.data,
        channel_id=ChannelId(channel.id),
        channel=_encoded_guild_channel(location.channel)
        if channel_access.guild is not None
        else _partial_channel(location.channel, user),
        locale=invoker.user.locale,
        entitlements=active_entitlements,
        entitlement_sku_ids=[Snowflake(entitlement.sku_id) for entitlement in active_entitlements],
        app_permissions=invocation_rules.app_permissions(
            channel_access,
            invocation.context_type,
            bot_access,
            everyone_permissions,
            prepared_interaction.installation_owners,
            call.now_ms,
        ),
        authorizing_integration_owners=messages.views.owners_view(
            prepared_interaction.installation_owners, call.now_ms
        ),
        context=int(invocation.context_type),
    )
    if changes.ATTACHMENT_SIZE_LIMIT.is_active(call.now_ms):
        # spec/http.md#1.11: the larger of the user's and the guild's limit.
        view.attachment_size_limit = messages.validation.file_bytes_max(call, invoker, is_app=True)
    if prepared_interaction.message is not None:
        view.message = prepared_interaction.message
    if channel_access.guild is None or invoker.member is None:
        view.user = UNSET if user is None else user
        return view
    locale = location.locale or ""
    view.guild_id = channel_access.guild.guild_id
    view.guild = wire.InteractionGuild(
        id=channel_access.guild.guild_id,
        features=list(_decode_features(location.features or "[]")),
        locale=locale,
    )
    view.guild_locale = locale
    view.member = _encoded_member(
        invoker.member, tuple(channel_access.guild.role_ids), invoker.user, channel_access.permissions
    )
    return view


def _partial_channel(row: channels.ChannelRow, user: User | None) -> AnyChannel:
    """Build the partial channel; permission overwrites are omitted because they are not loaded.

    `user` is the recipient of a private channel, or None."""
    view = channels.views.any_channel(row, recipients=() if user is None else (user,))
    if isinstance(view, Channel):
        view.permission_overwrites = UNSET
    return view


# Members and channels recur across interactions, and their payloads depend on the rows alone. Their JSON is cached and
# inserted as msgspec.Raw; the casts satisfy the type checker.


@lru_cache(maxsize=1024)
def _encoded_guild_channel(row: channels.ChannelRow) -> AnyChannel:
    return cast("AnyChannel", msgspec.Raw(codec.encode(_partial_channel(row, None))))


@lru_cache(maxsize=1024)
def _encoded_member(
    row: members.MemberRow, role_ids: tuple[RoleId, ...], user: users.UserRow, permissions: int
) -> Member:
    view = members.views.member(members.Membership(row, role_ids, user), permissions)
    return cast("Member", msgspec.Raw(codec.encode(view)))


@lru_cache(maxsize=1024)
def _decode_features(features_json: str) -> tuple[str, ...]:
    return tuple(codec.decode(features_json, list[str]))
