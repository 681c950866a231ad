"""Permission bits and their arithmetic: pure functions over plain ints, shared by server, SDK and tests."""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol.ids import WideInt

Overwrite = tuple[int, int]
"""The allowed and the denied bits of one channel overwrite."""

Rank = tuple[int, int]
"""A role's position and id, which say how high it stands."""


class Permissions(WideInt):
    """A set of permission bits on the wire; its attributes are the bits, as plain ints (http.md 2.1)."""

    __slots__ = ()

    CREATE_INSTANT_INVITE: Final = 1 << 0
    """Create invites."""
    KICK_MEMBERS: Final = 1 << 1
    """Remove members from the guild."""
    BAN_MEMBERS: Final = 1 << 2
    """Ban and unban."""
    ADMINISTRATOR: Final = 1 << 3
    """All permissions, past all channel overwrites."""
    MANAGE_CHANNELS: Final = 1 << 4
    """Create, edit and delete channels."""
    MANAGE_GUILD: Final = 1 << 5
    """Edit the guild."""
    ADD_REACTIONS: Final = 1 << 6
    """Be the first to react with an emoji."""
    VIEW_AUDIT_LOG: Final = 1 << 7
    """Read the audit log."""
    PRIORITY_SPEAKER: Final = 1 << 8
    """Speak over others in a voice channel."""
    STREAM: Final = 1 << 9
    """Go live and send video."""
    VIEW_CHANNEL: Final = 1 << 10
    """See the channel; without it nothing else holds there."""
    SEND_MESSAGES: Final = 1 << 11
    """Send messages, and create posts in a forum."""
    SEND_TTS_MESSAGES: Final = 1 << 12
    """Send messages that are read aloud."""
    MANAGE_MESSAGES: Final = 1 << 13
    """Delete others' messages and reactions."""
    EMBED_LINKS: Final = 1 << 14
    """Have embeds in one's messages."""
    ATTACH_FILES: Final = 1 << 15
    """Upload files."""
    READ_MESSAGE_HISTORY: Final = 1 << 16
    """Read messages sent before one came."""
    MENTION_EVERYONE: Final = 1 << 17
    """Notify by @everyone, @here and any role."""
    USE_EXTERNAL_EMOJIS: Final = 1 << 18
    """Use emoji of other guilds."""
    VIEW_GUILD_INSIGHTS: Final = 1 << 19
    """Read the guild's statistics."""
    CONNECT: Final = 1 << 20
    """Join a voice channel; without it no other power holds there."""
    SPEAK: Final = 1 << 21
    """Speak in a voice channel."""
    MUTE_MEMBERS: Final = 1 << 22
    """Mute others in voice, and let speakers on a stage."""
    DEAFEN_MEMBERS: Final = 1 << 23
    """Deafen others in voice."""
    MOVE_MEMBERS: Final = 1 << 24
    """Move others between voice channels."""
    USE_VAD: Final = 1 << 25
    """Speak by voice activity instead of push-to-talk."""
    CHANGE_NICKNAME: Final = 1 << 26
    """Change one's own nickname."""
    MANAGE_NICKNAMES: Final = 1 << 27
    """Change others' nicknames."""
    MANAGE_ROLES: Final = 1 << 28
    """Edit and grant lower roles; in a channel, edit its overwrites."""
    MANAGE_WEBHOOKS: Final = 1 << 29
    """Create, edit and delete webhooks."""
    MANAGE_GUILD_EXPRESSIONS: Final = 1 << 30
    """Edit and delete anyone's emoji, stickers and sounds."""
    USE_APPLICATION_COMMANDS: Final = 1 << 31
    """Run commands of apps."""
    REQUEST_TO_SPEAK: Final = 1 << 32
    """Raise a hand on a stage."""
    MANAGE_EVENTS: Final = 1 << 33
    """Edit and delete anyone's scheduled events."""
    MANAGE_THREADS: Final = 1 << 34
    """Edit and delete threads, and see private ones."""
    CREATE_PUBLIC_THREADS: Final = 1 << 35
    """Create public and announcement threads."""
    CREATE_PRIVATE_THREADS: Final = 1 << 36
    """Create private threads."""
    USE_EXTERNAL_STICKERS: Final = 1 << 37
    """Use stickers of other guilds."""
    SEND_MESSAGES_IN_THREADS: Final = 1 << 38
    """Send messages in threads, where it stands for SEND_MESSAGES."""
    USE_EMBEDDED_ACTIVITIES: Final = 1 << 39
    """Start activities."""
    MODERATE_MEMBERS: Final = 1 << 40
    """Time members out."""
    VIEW_CREATOR_MONETIZATION_ANALYTICS: Final = 1 << 41
    """Read what role subscriptions earn."""
    USE_SOUNDBOARD: Final = 1 << 42
    """Play soundboard sounds in voice."""
    CREATE_GUILD_EXPRESSIONS: Final = 1 << 43
    """Create emoji, stickers and sounds, and edit and delete one's own."""
    CREATE_EVENTS: Final = 1 << 44
    """Create scheduled events, and edit and delete one's own."""
    USE_EXTERNAL_SOUNDS: Final = 1 << 45
    """Play sounds of other guilds."""
    SEND_VOICE_MESSAGES: Final = 1 << 46
    """Send voice messages."""
    SET_VOICE_CHANNEL_STATUS: Final = 1 << 48
    """Set the line shown above a voice channel."""
    SEND_POLLS: Final = 1 << 49
    """Send polls."""
    USE_EXTERNAL_APPS: Final = 1 << 50
    """Have user-installed apps answer in public."""
    PIN_MESSAGES: Final = 1 << 51
    """Pin and unpin messages."""
    BYPASS_SLOWMODE: Final = 1 << 52
    """Send without waiting for slowmode."""

    ALL: Final = ((1 << 53) - 1) & ~(1 << 47)
    """Every bit; 47 is reserved."""

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
    """What @everyone may do in a new guild."""

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
    """Need two-factor of the acting person, or of the acting bot's owner, in a guild that demands it."""

    TIMED_OUT: Final = VIEW_CHANNEL | READ_MESSAGE_HISTORY
    """All that a timed-out member keeps."""

    _EVERY_KIND: Final = (
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
        _EVERY_KIND
        | MANAGE_THREADS
        | CREATE_PUBLIC_THREADS
        | CREATE_PRIVATE_THREADS
        | SEND_MESSAGES_IN_THREADS
        | USE_EMBEDDED_ACTIVITIES
        | PIN_MESSAGES
    )
    """Bits that mean something in overwrites of text, announcement, forum and media channels."""
    VOICE: Final = (
        _EVERY_KIND
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
    """The same for voice channels."""
    STAGE: Final = (
        _EVERY_KIND | STREAM | CONNECT | MUTE_MEMBERS | MOVE_MEMBERS | REQUEST_TO_SPEAK | MANAGE_EVENTS | CREATE_EVENTS
    )
    """The same for stage channels."""
    CHANNEL: Final = TEXT | VOICE | STAGE
    """Every bit that an overwrite can change."""


BITS: Final[dict[str, int]] = {
    name: value
    for name, value in vars(Permissions).items()
    if name.isupper() and isinstance(value, int) and value.bit_count() == 1
}
"""Each single permission by name."""

_WRITING: Final = (
    Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES | Permissions.ATTACH_FILES | Permissions.EMBED_LINKS
)


def names(bits: int) -> list[str]:
    """The names of the known bits in a set, lowest first."""
    return [name for name, bit in BITS.items() if bits & bit]


def base_permissions(owner: bool, everyone: int, roles: Iterable[int]) -> int:
    """What a member may do in the guild: @everyone's bits and those of all their roles."""
    if owner:
        return Permissions.ALL
    bits = everyone
    for role in roles:
        bits |= role
    return Permissions.ALL if bits & Permissions.ADMINISTRATOR else bits


def channel_permissions(
    base: int,
    everyone_overwrite: Overwrite | None = None,
    role_overwrites: Iterable[Overwrite] = (),
    member_overwrite: Overwrite | None = None,
) -> int:
    """What a member may do in a channel: overwrites of @everyone, then of all roles together, then the member's own."""
    if base & Permissions.ADMINISTRATOR:
        return Permissions.ALL
    bits = base
    if everyone_overwrite is not None:
        bits = bits & ~everyone_overwrite[1] | everyone_overwrite[0]
    allow = deny = 0
    for allowed, denied in role_overwrites:
        allow |= allowed
        deny |= denied
    bits = bits & ~deny | allow
    if member_overwrite is not None:
        bits = bits & ~member_overwrite[1] | member_overwrite[0]
    # An overwrite speaks about its channel only: it never makes an administrator, nor takes a guild-wide bit away.
    return bits & Permissions.CHANNEL | base & ~Permissions.CHANNEL


def thread_permissions(parent: int) -> int:
    """What holds in a thread: the parent's bits, where SEND_MESSAGES_IN_THREADS decides about SEND_MESSAGES."""
    if parent & Permissions.SEND_MESSAGES_IN_THREADS:
        return parent | Permissions.SEND_MESSAGES
    return parent & ~Permissions.SEND_MESSAGES


def can_see_thread(parent: int, *, private: bool, joined: bool) -> bool:
    """Whether a thread shows: by the parent's VIEW_CHANNEL; private ones to members and MANAGE_THREADS holders."""
    if not parent & Permissions.VIEW_CHANNEL:
        return False
    return not private or joined or bool(parent & Permissions.MANAGE_THREADS)


def without_implied_denials(bits: int, *, voice: bool = False) -> int:
    """What is left in a channel once missing bits void those that rest on them; for checking, never for showing.

    Without VIEW_CHANNEL nothing holds; in voice and stage channels without CONNECT only the view of the channel does;
    without SEND_MESSAGES no mention of everyone, speech, file or embed.
    """
    if bits & Permissions.ADMINISTRATOR:
        return bits
    if not bits & Permissions.VIEW_CHANNEL:
        return 0
    if voice and not bits & Permissions.CONNECT:
        return Permissions.VIEW_CHANNEL
    if not bits & Permissions.SEND_MESSAGES:
        return bits & ~_WRITING
    return bits


def while_timed_out(bits: int) -> int:
    """What a timed-out (or quarantined, or still pending) member keeps; owners and administrators keep all."""
    return bits if bits & Permissions.ADMINISTRATOR else bits & Permissions.TIMED_OUT


def effective(bits: int, *, timed_out: bool = False, voice: bool = False) -> int:
    """The bits to check an action in a channel against: computed ones, less a timeout's and the implied denials."""
    if timed_out:
        bits = while_timed_out(bits)
    return without_implied_denials(bits, voice=voice)


def highest(roles: Iterable[Rank]) -> Rank:
    """The highest of some roles; below every role when there are none."""
    return max(roles, key=lambda role: (role[0], -role[1]), default=(-1, 0))


def outranks(actor_top: Rank, target_top: Rank) -> bool:
    """Whether one role stands strictly above another: by greater position, in a tie by lower id."""
    return (actor_top[0], -actor_top[1]) > (target_top[0], -target_top[1])


def can_act_on(actor_top: Rank, target_top: Rank, *, actor_owns: bool = False, target_owns: bool = False) -> bool:
    """Whether the hierarchy lets a member kick, ban, time out or rename another; nobody acts on the owner."""
    return not target_owns and (actor_owns or outranks(actor_top, target_top))


def can_grant(actor: int, changed: int) -> bool:
    """Whether an actor may set or clear these bits on a role: only bits they hold."""
    return not changed & ~actor


def can_overwrite(guild: int, channel: int, changed: int, *, manages_by_overwrite: bool = False) -> bool:
    """Whether an actor may change these bits in a channel's overwrites.

    They must hold them in the guild or in the channel (its parent, for a new one); MANAGE_ROLES itself is for
    administrators. One who has MANAGE_ROLES by an overwrite of the channel is free of both rules.
    """
    if guild & Permissions.ADMINISTRATOR or manages_by_overwrite:
        return True
    return not changed & Permissions.MANAGE_ROLES and not changed & ~(guild | channel)
