"""Permission bits and their computation: pure functions over integers, shared by server, SDK and tests."""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol.ids import WideInt

Overwrite = tuple[int, int]
"""Allowed and denied bits of a channel overwrite."""

Rank = tuple[int, int]
"""Position and ID of a role, which determine its place in the role hierarchy."""


class Permissions(WideInt):
    """A set of permission bits on the wire; its attributes are the bits as plain integers (spec/http.md#2.1)."""

    __slots__ = ()

    CREATE_INSTANT_INVITE: Final = 1 << 0
    """Create invites."""
    KICK_MEMBERS: Final = 1 << 1
    """Remove members from the guild."""
    BAN_MEMBERS: Final = 1 << 2
    """Ban and unban users."""
    ADMINISTRATOR: Final = 1 << 3
    """All permissions, regardless of channel overwrites."""
    MANAGE_CHANNELS: Final = 1 << 4
    """Create, edit and delete channels."""
    MANAGE_GUILD: Final = 1 << 5
    """Edit the guild."""
    ADD_REACTIONS: Final = 1 << 6
    """Add new reactions; joining an existing reaction does not require it."""
    VIEW_AUDIT_LOG: Final = 1 << 7
    """View the audit log."""
    PRIORITY_SPEAKER: Final = 1 << 8
    """Be a priority speaker in voice channels."""
    STREAM: Final = 1 << 9
    """Share video and screen."""
    VIEW_CHANNEL: Final = 1 << 10
    """View the channel; all other permissions in it depend on this one."""
    SEND_MESSAGES: Final = 1 << 11
    """Send messages, and create posts in forum and media channels."""
    SEND_TTS_MESSAGES: Final = 1 << 12
    """Send text-to-speech messages."""
    MANAGE_MESSAGES: Final = 1 << 13
    """Delete messages and reactions of other users."""
    EMBED_LINKS: Final = 1 << 14
    """Have links embedded, and send embeds."""
    ATTACH_FILES: Final = 1 << 15
    """Upload files."""
    READ_MESSAGE_HISTORY: Final = 1 << 16
    """Read earlier messages."""
    MENTION_EVERYONE: Final = 1 << 17
    """Mention @everyone, @here and all roles."""
    USE_EXTERNAL_EMOJIS: Final = 1 << 18
    """Use emoji of other guilds."""
    VIEW_GUILD_INSIGHTS: Final = 1 << 19
    """View the guild's statistics."""
    CONNECT: Final = 1 << 20
    """Join voice channels; other permissions in the channel depend on it."""
    SPEAK: Final = 1 << 21
    """Speak in voice channels."""
    MUTE_MEMBERS: Final = 1 << 22
    """Mute members in voice channels, and manage speakers on a stage."""
    DEAFEN_MEMBERS: Final = 1 << 23
    """Deafen members in voice channels."""
    MOVE_MEMBERS: Final = 1 << 24
    """Move members between voice channels."""
    USE_VAD: Final = 1 << 25
    """Use voice activity detection instead of push-to-talk."""
    CHANGE_NICKNAME: Final = 1 << 26
    """Change their own nickname."""
    MANAGE_NICKNAMES: Final = 1 << 27
    """Change nicknames of other members."""
    MANAGE_ROLES: Final = 1 << 28
    """Edit and assign lower roles; in a channel, edit its permission overwrites."""
    MANAGE_WEBHOOKS: Final = 1 << 29
    """Create, edit and delete webhooks."""
    MANAGE_GUILD_EXPRESSIONS: Final = 1 << 30
    """Edit and delete emoji, stickers and sounds of all members."""
    USE_APPLICATION_COMMANDS: Final = 1 << 31
    """Use application commands."""
    REQUEST_TO_SPEAK: Final = 1 << 32
    """Request to speak in stage channels."""
    MANAGE_EVENTS: Final = 1 << 33
    """Edit and delete scheduled events of all members."""
    MANAGE_THREADS: Final = 1 << 34
    """Edit and delete threads, and view all private threads."""
    CREATE_PUBLIC_THREADS: Final = 1 << 35
    """Create public and announcement threads."""
    CREATE_PRIVATE_THREADS: Final = 1 << 36
    """Create private threads."""
    USE_EXTERNAL_STICKERS: Final = 1 << 37
    """Use stickers of other guilds."""
    SEND_MESSAGES_IN_THREADS: Final = 1 << 38
    """Send messages in threads, where it replaces SEND_MESSAGES."""
    USE_EMBEDDED_ACTIVITIES: Final = 1 << 39
    """Launch activities."""
    MODERATE_MEMBERS: Final = 1 << 40
    """Time out members."""
    VIEW_CREATOR_MONETIZATION_ANALYTICS: Final = 1 << 41
    """View statistics on role subscriptions."""
    USE_SOUNDBOARD: Final = 1 << 42
    """Play soundboard sounds in voice channels."""
    CREATE_GUILD_EXPRESSIONS: Final = 1 << 43
    """Create emoji, stickers and sounds, and edit and delete their own."""
    CREATE_EVENTS: Final = 1 << 44
    """Create scheduled events, and edit and delete their own."""
    USE_EXTERNAL_SOUNDS: Final = 1 << 45
    """Play sounds of other guilds."""
    SEND_VOICE_MESSAGES: Final = 1 << 46
    """Send voice messages."""
    SET_VOICE_CHANNEL_STATUS: Final = 1 << 48
    """Set the status of voice channels."""
    SEND_POLLS: Final = 1 << 49
    """Send polls."""
    USE_EXTERNAL_APPS: Final = 1 << 50
    """Let user-installed applications send public responses, and launch activities that are not installed in the guild."""
    PIN_MESSAGES: Final = 1 << 51
    """Pin and unpin messages."""
    BYPASS_SLOWMODE: Final = 1 << 52
    """Send messages without slowmode."""

    ALL: Final = ((1 << 53) - 1) & ~(1 << 47)
    """All bits; bit 47 is reserved."""

    DEFAULT_EVERYONE: Final = (
        VIEW_CHANNEL
        | SEND_MESSAGES
        | SEND_MESSAGES_IN_THREADS
        | CREATE_PUBLIC_THREADS
        | CREATE_PRIVATE_THREADS
        | EMBED_LINKS
        | ATTACH_FILES
        | READ_MESSAGE_HISTORY
        | ADD_REACTIONS
        | USE_EXTERNAL_EMOJIS
        | USE_EXTERNAL_STICKERS
        | MENTION_EVERYONE
        | CONNECT
        | SPEAK
        | USE_VAD
        | STREAM
        | CHANGE_NICKNAME
        | CREATE_INSTANT_INVITE
        | USE_APPLICATION_COMMANDS
        | REQUEST_TO_SPEAK
        | USE_EMBEDDED_ACTIVITIES
        | USE_SOUNDBOARD
        | USE_EXTERNAL_SOUNDS
        | SEND_VOICE_MESSAGES
        | SEND_POLLS
        | USE_EXTERNAL_APPS
    )
    """Permissions of @everyone in a new guild."""

    ELEVATED: Final = (
        KICK_MEMBERS
        | BAN_MEMBERS
        | ADMINISTRATOR
        | MANAGE_CHANNELS
        | MANAGE_GUILD
        | MANAGE_MESSAGES
        | MANAGE_ROLES
        | MANAGE_WEBHOOKS
        | MANAGE_GUILD_EXPRESSIONS
        | MANAGE_THREADS
        | VIEW_CREATOR_MONETIZATION_ANALYTICS
    )
    """Permissions that require two-factor authentication if the guild's `mfa_level` is 1.

    The acting user, or the owner of the acting bot, must have it enabled.
    """

    TIMED_OUT: Final = VIEW_CHANNEL | READ_MESSAGE_HISTORY
    """Permissions that a timed-out member keeps."""

    _ANY_CHANNEL: Final = (
        CREATE_INSTANT_INVITE
        | MANAGE_CHANNELS
        | ADD_REACTIONS
        | VIEW_CHANNEL
        | SEND_MESSAGES
        | SEND_TTS_MESSAGES
        | MANAGE_MESSAGES
        | EMBED_LINKS
        | ATTACH_FILES
        | READ_MESSAGE_HISTORY
        | MENTION_EVERYONE
        | USE_EXTERNAL_EMOJIS
        | MANAGE_ROLES
        | MANAGE_WEBHOOKS
        | USE_APPLICATION_COMMANDS
        | USE_EXTERNAL_STICKERS
        | SEND_VOICE_MESSAGES
        | SEND_POLLS
        | USE_EXTERNAL_APPS
        | BYPASS_SLOWMODE
    )
    TEXT: Final = (
        _ANY_CHANNEL
        | MANAGE_THREADS
        | CREATE_PUBLIC_THREADS
        | CREATE_PRIVATE_THREADS
        | SEND_MESSAGES_IN_THREADS
        | USE_EMBEDDED_ACTIVITIES
        | PIN_MESSAGES
    )
    """Bits that apply in overwrites of text, announcement, forum and media channels."""
    VOICE: Final = (
        _ANY_CHANNEL
        | PRIORITY_SPEAKER
        | STREAM
        | CONNECT
        | SPEAK
        | MUTE_MEMBERS
        | DEAFEN_MEMBERS
        | MOVE_MEMBERS
        | USE_VAD
        | MANAGE_EVENTS
        | USE_EMBEDDED_ACTIVITIES
        | USE_SOUNDBOARD
        | CREATE_EVENTS
        | USE_EXTERNAL_SOUNDS
        | SET_VOICE_CHANNEL_STATUS
    )
    """Bits that apply in overwrites of voice channels."""
    STAGE: Final = (
        _ANY_CHANNEL | STREAM | CONNECT | MUTE_MEMBERS | MOVE_MEMBERS | REQUEST_TO_SPEAK | MANAGE_EVENTS | CREATE_EVENTS
    )
    """Bits that apply in overwrites of stage channels."""
    CHANNEL: Final = TEXT | VOICE | STAGE
    """Bits that overwrites can change in at least one type of channel."""


PERMISSIONS_BY_NAME: Final[dict[str, int]] = {
    name: value
    for name, value in vars(Permissions).items()
    if name.isupper() and isinstance(value, int) and value.bit_count() == 1
}
"""All single permissions by name."""

DEPENDENT_ON_SEND_MESSAGES: Final = (
    Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES | Permissions.ATTACH_FILES | Permissions.EMBED_LINKS
)
"""Permissions that have no effect in a channel without SEND_MESSAGES."""


def permission_names(bits: int) -> list[str]:
    """Return the names of the known bits in a set, lowest bit first."""
    return [name for name, bit in PERMISSIONS_BY_NAME.items() if bits & bit]


def base_permissions(is_owner: bool, everyone_bits: int, role_bits: Iterable[int]) -> int:
    """Return a member's permissions in a guild, from the permissions of @everyone and of the member's roles.

    The owner and administrators have all permissions.
    """
    if is_owner:
        return Permissions.ALL
    bits = everyone_bits
    for granted_bits in role_bits:
        bits |= granted_bits
    return Permissions.ALL if bits & Permissions.ADMINISTRATOR else bits


def channel_permissions(
    base: int,
    everyone_overwrite: Overwrite | None = None,
    role_overwrites: Iterable[Overwrite] = (),
    member_overwrite: Overwrite | None = None,
) -> int:
    """Return a member's permissions in a channel.

    Overwrites apply in the order @everyone, all roles together, member.
    """
    if base & Permissions.ADMINISTRATOR:
        return Permissions.ALL
    bits = base
    if everyone_overwrite is not None:
        allowed_bits, denied_bits = everyone_overwrite
        bits = bits & ~denied_bits | allowed_bits
    roles_allowed = roles_denied = 0
    for allowed_bits, denied_bits in role_overwrites:
        roles_allowed |= allowed_bits
        roles_denied |= denied_bits
    bits = bits & ~roles_denied | roles_allowed
    if member_overwrite is not None:
        allowed_bits, denied_bits = member_overwrite
        bits = bits & ~denied_bits | allowed_bits
    # Overwrites only affect channel permissions: they never grant ADMINISTRATOR or remove a guild-wide permission.
    return bits & Permissions.CHANNEL | base & ~Permissions.CHANNEL


def thread_permissions(parent_bits: int) -> int:
    """Return the permissions in a thread from those in its parent.

    SEND_MESSAGES_IN_THREADS of the parent determines SEND_MESSAGES of the thread.
    """
    if parent_bits & Permissions.SEND_MESSAGES_IN_THREADS:
        return parent_bits | Permissions.SEND_MESSAGES
    return parent_bits & ~Permissions.SEND_MESSAGES


def can_see_thread(parent_bits: int, *, is_private: bool, is_member: bool) -> bool:
    """Return whether a member with these parent permissions can view a thread.

    Private threads are visible to their members and to members with MANAGE_THREADS.
    """
    if not parent_bits & Permissions.VIEW_CHANNEL:
        return False
    return not is_private or is_member or bool(parent_bits & Permissions.MANAGE_THREADS)


def apply_implied_denials(bits: int, *, is_voice: bool = False) -> int:
    """Remove permissions that depend on a missing one; for checks only, never for output.

    Without VIEW_CHANNEL nothing remains; in voice and stage channels without CONNECT only VIEW_CHANNEL remains; without
    SEND_MESSAGES a member cannot mention everyone, send text-to-speech, attach files or embed links.
    """
    if bits & Permissions.ADMINISTRATOR:
        return bits
    if not bits & Permissions.VIEW_CHANNEL:
        return 0
    if is_voice and not bits & Permissions.CONNECT:
        return Permissions.VIEW_CHANNEL
    if not bits & Permissions.SEND_MESSAGES:
        return bits & ~DEPENDENT_ON_SEND_MESSAGES
    return bits


def timed_out_permissions(bits: int) -> int:
    """Return the permissions that a timed-out, quarantined or pending member keeps; administrators keep all."""
    return bits if bits & Permissions.ADMINISTRATOR else bits & Permissions.TIMED_OUT


def effective_permissions(bits: int, *, is_timed_out: bool = False, is_voice: bool = False) -> int:
    """Return the permissions to check an action in a channel against, after timeouts and implied denials.

    `is_voice` is True for a voice or stage channel, where members without CONNECT may only view the channel."""
    if is_timed_out:
        bits = timed_out_permissions(bits)
    return apply_implied_denials(bits, is_voice=is_voice)


def _hierarchy_key(rank: Rank) -> tuple[int, int]:
    """Return a sort key by which higher roles are greater: by position, and in a tie the lower ID is higher."""
    position, role_id = rank
    return position, -role_id


def highest_role(roles: Iterable[Rank]) -> Rank:
    """Return the highest of some roles, or a rank below all roles if there are none."""
    return max(roles, key=_hierarchy_key, default=(-1, 0))


def outranks(actor_top: Rank, target_top: Rank) -> bool:
    """Return whether a role is strictly above another: by greater position, and in a tie by lower ID."""
    return _hierarchy_key(actor_top) > _hierarchy_key(target_top)


def can_act_on(
    actor_top: Rank, target_top: Rank, *, is_actor_owner: bool = False, is_target_owner: bool = False
) -> bool:
    """Return whether the role hierarchy allows a member to kick, ban, time out or rename another member.

    No member may do this to the owner.
    """
    return not is_target_owner and (is_actor_owner or outranks(actor_top, target_top))


def can_grant(actor_bits: int, changed_bits: int) -> bool:
    """Return whether an actor may set or clear these bits on a role: the actor must have all of them."""
    return not changed_bits & ~actor_bits


def can_overwrite(
    guild_bits: int, channel_bits: int, changed_bits: int, *, has_manage_roles_overwrite: bool = False
) -> bool:
    """Return whether an actor may change these bits in a channel's overwrites.

    The actor must have the bits in the guild or in the channel (for a new channel, in its parent), and only
    administrators may change MANAGE_ROLES. An actor who has MANAGE_ROLES by an overwrite of the channel is exempt from
    both rules.
    """
    if guild_bits & Permissions.ADMINISTRATOR or has_manage_roles_overwrite:
        return True
    return not changed_bits & Permissions.MANAGE_ROLES and not changed_bits & ~(guild_bits | channel_bits)
