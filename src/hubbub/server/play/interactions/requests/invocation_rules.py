"""Rules for invoking applications: channels, installations and commands."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    ApplicationIntegrationType,
    ChannelType,
    InteractionContextType,
)
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.commands import CommandPermission
from hubbub.server.core.call import Call
from hubbub.server.core.denials import READ_ONLY_REASON, Denial, PermissionDenied
from hubbub.server.identity import applications
from hubbub.server.places import channels
from hubbub.server.places.standing import ChannelAccess, ChannelRef, GuildAccess, access
from hubbub.server.play import commands
from hubbub.server.play.commands import CommandRow
from hubbub.server.play.interactions import rules, store
from hubbub.server.play.interactions.delivery import timeouts
from hubbub.server.play.interactions.store import (
    InteractionApplication,
    LoadedInvocation,
)
from hubbub.server.talk import messages


class InvocationAccess(NamedTuple):
    """The invoking user and the application, with their access to the channel."""

    loaded_invocation: LoadedInvocation
    channel_access: ChannelAccess
    """The invoking user's permissions in the channel."""
    bot_access: ChannelAccess | None
    """The bot's permissions in the channel, or None if it is not in the guild."""
    application: InteractionApplication
    invoker: messages.Author


def require_invocation_access(call: Call, body: wire.InteractionRequest) -> InvocationAccess:
    """Return the caller's and the application's access to the channel.

    Raise an error if the caller may not create interactions in the channel, or if the application cannot receive
    them."""
    command_id = body.data.id if isinstance(body, wire.RunCommand | wire.AutocompleteCommand) else 0
    timeout_job = timeouts.job_key(timeouts.compute_due_ms(call.now_ms)), timeouts.EXPIRE_JOB
    loaded_invocation = store.load_invocation(
        call.tx, call.user_id, body.application_id, body.channel_id, command_id=command_id, timeout_job=timeout_job
    )
    if loaded_invocation is None:
        raise errors.UNKNOWN_CHANNEL()
    application, invoker = loaded_invocation.application, loaded_invocation.invoker
    bot_id = 0 if application is None else application.bot_id or 0
    channel_access, bot_access = access.get_caller_and_other_standing(
        call, loaded_invocation.channel_ref, loaded_invocation.membership, bot_id
    )
    _require_usable_channel(channel_access, body)
    if application is None:
        raise errors.UNKNOWN_APPLICATION()
    if not can_receive_interactions(application):
        raise errors.INTERACTION_FAILED_TO_SEND()
    if invoker is None:
        raise errors.UNAUTHORIZED()
    return InvocationAccess(loaded_invocation, channel_access, bot_access, application, invoker)


def _require_usable_channel(channel_access: ChannelAccess, body: wire.InteractionRequest) -> None:
    """Raise unless interactions can be created in the channel."""
    if body.guild_id and body.guild_id != channel_access.channel.guild_id:
        raise errors.UNKNOWN_GUILD()
    if channel_access.channel.type not in messages.history.MESSAGE_CHANNEL_TYPES:
        raise errors.invalid(
            "channel_id",
            *errors.choices(sorted(int(channel_type) for channel_type in messages.history.MESSAGE_CHANNEL_TYPES)),
        )
    if channel_access.guild is not None and channel_access.guild.is_read_only:
        # spec/http.md#2.2: a member who is timed out, pending or quarantined may only read.
        raise PermissionDenied(Denial(reason=READ_ONLY_REASON))


def can_receive_interactions(application: InteractionApplication) -> bool:
    # An application needs a bot for the gateway or an HTTP endpoint.
    return not application.disabled and (
        application.bot_id is not None
        or applications.settings.decode_settings(application).interactions_endpoint_url is not None
    )


def resolve_context_type(
    application: InteractionApplication, channel: ChannelRef, recipient_ids: Collection[int]
) -> InteractionContextType:
    """Return the context type of a channel for an application; outside guilds it depends on the recipients."""
    if channel.guild_id is not None:
        return InteractionContextType.GUILD
    if channel.type == ChannelType.DM and application.bot_id in recipient_ids:
        return InteractionContextType.BOT_DM
    return InteractionContextType.PRIVATE_CHANNEL


def recipient_ids(call: Call, channel: ChannelRef) -> Collection[int]:
    """Return the user IDs of a private channel's recipients; empty for guild channels."""
    return () if channel.guild_id is not None else channels.private_channels.list_recipient_ids(call.tx, channel.id)


def installation_owners(
    installation_types: Collection[int], guild_id: int | None, user_id: int, context_type: InteractionContextType
) -> dict[str, Snowflake]:
    """Return the IDs of the owners of the applicable installations, by integration type.

    `installation_types` are the ApplicationIntegrationTypes of the application's installations."""
    owners_by_type: dict[str, Snowflake] = {}
    if context_type == InteractionContextType.BOT_DM:
        owners_by_type[rules.GUILD_INSTALL] = Snowflake(0)
    elif guild_id is not None and ApplicationIntegrationType.GUILD_INSTALL in installation_types:
        owners_by_type[rules.GUILD_INSTALL] = Snowflake(guild_id)
    if ApplicationIntegrationType.USER_INSTALL in installation_types:
        owners_by_type[rules.USER_INSTALL] = Snowflake(user_id)
    return owners_by_type


def require_command(
    call: Call,
    application: InteractionApplication,
    channel_access: ChannelAccess,
    context_type: InteractionContextType,
    owners: dict[str, Snowflake],
    command: commands.joined_commands.CommandWithPermissions | None,
) -> tuple[CommandRow, commands.Definition, dict[str, Snowflake]]:
    """Return a command that the caller may run in the channel, its definition and the matching installation owners.

    `owners` are all applicable installation owners, `command` is the command with its permission entries, or None if it
    does not exist. Raise UNKNOWN_APPLICATION_COMMAND if the command does not work in the channel, MISSING_PERMISSIONS
    if the caller may not use it."""
    if command is None or command.row.application_id != application.id:
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    row, entries_by_target = command
    if row.scope is not None and row.scope != channel_access.channel.guild_id:
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    definition = commands.cached_definition(row.definition)
    is_nsfw_channel = definition.nsfw and is_nsfw(call, channel_access.channel)
    command_owners = matching_owners(
        row, definition, channel_access, context_type, owners, is_nsfw_channel=is_nsfw_channel
    )
    if not command_owners:
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    if channel_access.guild is not None and not can_use_command(
        call, row, definition, channel_access, channel_access.guild, entries_by_target
    ):
        raise PermissionDenied(
            Denial(
                guild_id=channel_access.channel.guild_id,
                reason="{caller} may not use the command here because of its permissions or its default_member_permissions.",
            )
        )
    return row, definition, command_owners


def matching_owners(
    row: CommandRow,
    definition: commands.Definition,
    channel_access: ChannelAccess,
    context_type: InteractionContextType,
    owners: dict[str, Snowflake],
    *,
    is_nsfw_channel: bool,
) -> dict[str, Snowflake]:
    """Return the installation owners that a command applies to; empty if it does not work in the channel."""
    if context_type not in _context_types(row, definition):
        return {}
    # Outside guilds, NSFW commands need a user installation, which counts as opting in (decisions/0030).
    if definition.nsfw and not (is_nsfw_channel if channel_access.guild is not None else rules.USER_INSTALL in owners):
        return {}
    return {
        integration_type: owner_id
        for integration_type, owner_id in owners.items()
        if int(integration_type) in definition.integration_types
    }


def can_use_command(
    call: Call,
    row: CommandRow,
    definition: commands.Definition,
    channel_access: ChannelAccess,
    guild: GuildAccess,
    entries_by_target: Mapping[int, Sequence[CommandPermission]],
) -> bool:
    """Return whether the caller may use a command in a guild.

    `entries_by_target` are the permission entries of commands and applications in the guild, by command or application ID."""
    return commands.can_use(
        guild_id=guild.guild_id,
        user_id=call.user_id,
        role_ids=guild.permissions_by_role,
        channel_id=channel_access.channel.overwrites_channel_id,
        permissions=channel_access.allowed,
        required_permissions=definition.default_member_permissions,
        command_entries=entries_by_target.get(row.id, ()),
        application_entries=entries_by_target.get(row.application_id, ()),
    )


def _context_types(row: CommandRow, definition: commands.Definition) -> frozenset[int]:
    """Return the context types that a command works in (spec/webhooks-and-interactions.md#5.4)."""
    if row.scope is not None:
        return frozenset({InteractionContextType.GUILD})
    if definition.contexts is not None:
        return frozenset(definition.contexts)
    return frozenset(commands.derived_contexts(definition.integration_types))


def is_nsfw(call: Call, channel: ChannelRef) -> bool:
    """Return whether a channel is age-restricted; threads inherit from their parent."""
    if not channel.is_thread or channel.parent_id is None:
        return bool(channel.nsfw)
    parent = access.find_channel(call.tx, channel.parent_id)
    return parent is not None and bool(parent.nsfw)


def app_permissions(
    channel_access: ChannelAccess,
    context_type: InteractionContextType,
    bot_access: ChannelAccess | None,
    everyone_permissions: int,
    owners: dict[str, Snowflake],
    now_ms: int,
) -> Permissions | UnsetType:
    """Return the `app_permissions` of an interaction (spec/webhooks-and-interactions.md#2.1).

    `bot_access` are the bot's permissions, or None if it is not in the guild; `everyone_permissions` are those of
    @everyone in the channel. Before `changes.USER_INSTALLS` the field is set only in guilds."""
    if channel_access.guild is None:
        if not changes.USER_INSTALLS.is_active(now_ms):
            return UNSET
        return Permissions(
            rules.RESPONSE_PERMISSIONS
            if context_type == InteractionContextType.BOT_DM
            else wire.PRIVATE_CHANNEL_PERMISSIONS
        )
    if bot_access is not None:
        return Permissions(bot_access.permissions)
    if rules.GUILD_INSTALL in owners:
        return Permissions(everyone_permissions & rules.RESPONSE_PERMISSIONS)
    return Permissions(channel_access.permissions & rules.RESPONSE_PERMISSIONS)
