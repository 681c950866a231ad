"""Gateway: payloads of Identify, Resume and READY, client commands with their responses, and the gateway URL."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import GuildId, Snowflake, UserId, parse_wide
from hubbub.protocol.operation import Auth, Command, Event, Operation
from hubbub.protocol.resources.applications import ReadyApplication
from hubbub.protocol.resources.channels import AnyChannel
from hubbub.protocol.resources.guilds import UnavailableGuild
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.protocol.resources.join_requests import JoinRequest
from hubbub.protocol.resources.lobbies import GatewayLobby
from hubbub.protocol.resources.notification_settings import UserGuildSettingsList
from hubbub.protocol.resources.presence import Presence, SetPresence
from hubbub.protocol.resources.read_states import ReadStates
from hubbub.protocol.resources.relationships import GameRelationship, Relationship
from hubbub.protocol.resources.soundboard import SoundboardSounds
from hubbub.protocol.resources.user_messages import ActivityInvite
from hubbub.protocol.resources.users import MyUser, User

HEARTBEAT_INTERVAL_MS = 41_250
"""Default interval between heartbeats."""
LARGE_THRESHOLD_MIN = 50
"""Minimum `large_threshold` of Identify, and its default; smaller values count as this one."""
LARGE_THRESHOLD_MAX = 250
"""Maximum `large_threshold` of Identify; larger values count as this one."""
CLIENT_FRAMES_MAX = 120
"""Default maximum number of client frames per window, heartbeats included.

More frames close the connection with the close code RATE_LIMITED."""
CLIENT_FRAMES_WINDOW_SECONDS = 60
"""Length of the window for CLIENT_FRAMES_MAX."""
GUILDS_PER_SHARD_MAX = 2500
"""Maximum number of guilds in a bot's session; a bot in more guilds must use shards."""
SESSION_STARTS_PER_DAY = 1000
"""Default number of sessions that a bot may start per day."""
REQUESTED_MEMBERS_MAX = 100
"""Maximum number of members in the response to a request by name or ID."""
NONCE_BYTES_MAX = 32
"""Maximum length of the nonce of a request for members, in bytes."""
ALL_MEMBERS_INTERVAL_SECONDS = 30
"""Minimum number of seconds between two requests of a bot for all members of the same guild."""


class GatewayUrl(Struct, kw_only=True):
    """WebSocket address that clients connect to."""

    url: str
    """WebSocket URL to connect to."""


class SessionStartLimit(Struct, kw_only=True):
    """Limit on the number of sessions that a bot may start."""

    total: int
    """Number of session starts allowed per day."""
    remaining: int
    """Number of session starts remaining."""
    reset_after: int
    """Milliseconds until the limit resets."""
    max_concurrency: int
    """Number of sessions that may identify within five seconds."""


class BotGateway(GatewayUrl, kw_only=True):
    """URL of the gateway, with the recommended number of shards."""

    shards: int
    """Recommended number of shards."""
    session_start_limit: SessionStartLimit
    """Limit on the number of sessions that the bot may start."""


class Hello(Struct, kw_only=True):
    """Payload of the first frame that the server sends on a connection."""

    heartbeat_interval: int
    """Interval in milliseconds at which the client sends heartbeats."""
    trace: list[str] = field(name="_trace", default_factory=list)
    """Debugging data; clients should ignore it."""


class Identify(Struct, kw_only=True):
    """Payload that starts a session; most fields are optional, because client libraries send different ones (spec/clients.md#1)."""

    token: str
    """Token of a bot or user, with or without the prefix `Bot `, or an OAuth2 access token with the prefix `Bearer `."""
    properties: dict[str, Any] = {}
    """Operating system, browser and device of the client."""
    intents: int | UnsetType = UNSET
    """Bit set of `Intents`; required for bots, whose connection is otherwise closed with INVALID_INTENTS. Ignored for users."""
    compress: bool | str | int | None = False
    """Whether the client accepts payload compression; false, null, 0, an empty string and `false` disable it."""
    large_threshold: int | None = None
    """Member count above which GUILD_CREATE does not contain all members, 50 to 250; 50 if absent or null."""
    shard: list[int] | None = None
    """Shard ID and number of shards; `[0, 1]` if absent or null. Invalid values close the connection with INVALID_SHARD."""
    presence: SetPresence | None = None
    """Initial presence; online without activities if absent or null."""
    capabilities: int | None = 0
    """Bit set of `Capabilities` that the client supports; 0 if absent or null.

    For bots, all capabilities except CHANNEL_OBFUSCATION are ignored."""


class Resume(Struct, kw_only=True):
    """Payload that resumes a session on a new connection."""

    token: str
    """Token with which the session was started."""
    session_id: str
    """ID of the session."""
    seq: int | None
    """Last sequence number that the client received; null if it received none."""


class RequestGuildMembers(Struct, kw_only=True):
    """Request for guild members by name or by ID, or for all members; null is equivalent to an absent field.

    IDs are strings or integers as the client sent them, because `not_found` in the response returns them unchanged.
    """

    guild_id: str | int | list[str | int]
    """ID of the guild; users may send a list of IDs."""
    query: str | None | UnsetType = UNSET
    """Prefix of the username, display name or nickname; an empty string with `limit` 0 requests all members.

    Without the GUILD_MEMBERS intent, the response to a request for all members contains only the caller."""
    limit: int | None | UnsetType = UNSET
    """Maximum number of members to return; values above 100 count as 100. 0 is allowed only with an empty `query`."""
    user_ids: str | int | list[str | int] | None | UnsetType = UNSET
    """ID or list of IDs of the users to return; IDs after the first 100 are ignored. Cannot be combined with `query`."""
    presences: bool | None = False
    """Whether to include presences; requires the GUILD_PRESENCES intent."""
    nonce: str | None | UnsetType = UNSET
    """Value to return in the response; ignored if it is longer than 32 bytes."""

    @property
    def guild_ids(self) -> list[GuildId]:
        """The IDs of the requested guilds; raises ValueError if one is not an ID."""
        raw_ids = self.guild_id if isinstance(self.guild_id, list) else [self.guild_id]
        return [parse_wide(GuildId, raw_id) for raw_id in raw_ids]

    @property
    def requested_user_ids(self) -> list[str | int]:
        """The requested user IDs as the client sent them; empty if there are none."""
        if isinstance(self.user_ids, list):
            return self.user_ids
        return [] if self.user_ids is None or isinstance(self.user_ids, UnsetType) else [self.user_ids]


class RequestSoundboardSounds(Struct, kw_only=True):
    """Request for the soundboard sounds of guilds."""

    guild_ids: list[GuildId]
    """IDs of the guilds."""


class FeatureFlags(Struct, kw_only=True):
    """SDK features that the operator has disabled."""

    disabled_functions: list[str] = []
    """Names of disabled SDK operations."""
    disabled_gateway_events: list[str] = []
    """Names of gateway events that are not sent."""


class ReadyChannel(AnyChannel, kw_only=True):
    """A private channel at the start of a session."""

    recipient_ids: list[UserId] | UnsetType = UNSET
    """IDs of the recipients, instead of `recipients`; only with `Capabilities.DEDUPE_USER_OBJECTS`."""


class Ready(Struct, kw_only=True):
    """Initial state of a session."""

    v: int
    """Gateway version."""
    user: MyUser
    """The current user."""
    guilds: list[UnavailableGuild]
    """Guilds of the session, marked unavailable; a GUILD_CREATE follows for each.

    OAuth2 sessions with the scope `guilds` receive the ID and name of each guild instead, without a GUILD_CREATE."""
    session_id: str
    """ID of the session, used for resuming."""
    resume_gateway_url: str
    """URL for resuming the session."""
    application: ReadyApplication | UnsetType = UNSET
    """Application of the session; absent in user sessions."""
    shard: list[int] | UnsetType = UNSET
    """Shard ID and number of shards; absent if Identify had none."""
    private_channels: list[ReadyChannel] = []
    """Private channels of the user; empty for bots and for OAuth2 sessions without a scope that reads them."""
    relationships: list[Relationship] = []
    """Relationships of the user; empty for bots and for OAuth2 sessions without the scope `relationships.read`."""
    presences: list[Presence] = []
    """Presences of the user's friends; empty for bots, and with `Capabilities.PRIORITIZED_READY_PAYLOAD`."""
    user_settings: dict[str, Any] = {}
    """Settings of the user; empty in sessions of bots and in OAuth2 sessions."""
    session_type: str = "normal"
    """Type of the session; always `normal`."""
    geo_ordered_rtc_regions: list[str] = []
    """IDs of the voice regions, nearest first; always empty."""
    guild_join_requests: list[JoinRequest] = []
    """Pending join requests of the user; always empty."""
    scopes: list[str] | UnsetType = UNSET
    """Scopes granted to the session, with umbrella scopes expanded; OAuth2 sessions only."""
    users: list[User] | UnsetType = UNSET
    """Users that other fields refer to by ID; only with `Capabilities.DEDUPE_USER_OBJECTS`."""
    game_relationships: list[GameRelationship] | UnsetType = UNSET
    """Game relationships of the user; OAuth2 and user sessions only."""
    read_state: ReadStates | UnsetType = UNSET
    """Read states of the user; user sessions only."""
    user_guild_settings: UserGuildSettingsList | UnsetType = UNSET
    """Notification settings of the user; user sessions only."""
    lobbies: list[GatewayLobby] | UnsetType = UNSET
    """Lobbies of the user; only with `Capabilities.AUTO_LOBBY_CONNECT`.

    Without it, OAuth2 sessions with the intent LOBBIES receive a LOBBY_CREATE for each."""
    user_application_profiles: dict[str, list[UserApplicationProfile]] | UnsetType = UNSET
    """Application profiles by user ID; OAuth2 sessions only."""
    game_invites: list[ActivityInvite] | UnsetType = UNSET
    """Pending activity invites of the user; absent for bots, and with `Capabilities.PRIORITIZED_READY_PAYLOAD`."""
    feature_flags: FeatureFlags | UnsetType = UNSET
    """SDK features that the operator has disabled; OAuth2 sessions only."""
    av_sf_protocol_floor: int | UnsetType = UNSET
    """Minimum version of end-to-end encryption that calls require; OAuth2 sessions only."""
    trace: list[str] = field(name="_trace", default_factory=list)
    """Debugging data; clients should ignore it."""


class MergedPresences(Struct, kw_only=True):
    """Presences at the start of a session."""

    guilds: list[list[Presence]] = []
    """Presences of guild members by guild; always empty, because GUILD_CREATE contains them."""
    friends: list[Presence] = []
    """Presences of friends."""


class ReadySupplemental(Struct, kw_only=True):
    """Second part of READY for clients with `Capabilities.PRIORITIZED_READY_PAYLOAD`."""

    merged_presences: MergedPresences
    """Presences of the user's friends."""
    lazy_private_channels: list[ReadyChannel] = []
    """Private channels that READY left out; always empty."""
    game_invites: list[ActivityInvite] = []
    """Pending activity invites of the user."""


class Resumed(Struct, kw_only=True):
    """Payload of RESUMED; an object instead of null, because discord.py sets keys of it."""

    trace: list[str] = field(name="_trace", default_factory=list)
    """Debugging data; clients should ignore it."""


class RateLimitedRequest(Struct, kw_only=True):
    """The request for guild members that exceeded the rate limit."""

    guild_id: Snowflake
    """ID of the guild whose members were requested."""
    nonce: str | UnsetType = UNSET
    """Nonce of the request; absent if it had none."""


class RateLimited(Struct, kw_only=True):
    """A client command that exceeded its own rate limit; the connection remains open."""

    opcode: int
    """Opcode of the command."""
    retry_after: float
    """Seconds to wait before sending the command again."""
    meta: RateLimitedRequest
    """Request that exceeded the rate limit."""


READY = Event("READY", Ready, "Sent once after Identify, with the initial state of the session.")
READY_SUPPLEMENTAL = Event(
    "READY_SUPPLEMENTAL",
    ReadySupplemental,
    "Sent after READY to clients with `Capabilities.PRIORITIZED_READY_PAYLOAD`.",
)
RESUMED = Event("RESUMED", Resumed, "Sent after Resume, when all missed events have been replayed.")
RATE_LIMITED = Event("RATE_LIMITED", RateLimited, "Sent when a client command exceeds its own rate limit.")
SOUNDBOARD_SOUNDS = Event(
    "SOUNDBOARD_SOUNDS", SoundboardSounds, "Sent in response to a request for soundboard sounds, once per guild."
)

REQUEST_GUILD_MEMBERS = Command("REQUEST_GUILD_MEMBERS", GatewayOpcode.REQUEST_GUILD_MEMBERS, RequestGuildMembers)
"""Requests members of a guild; the server responds with GUILD_MEMBERS_CHUNK."""
REQUEST_SOUNDBOARD_SOUNDS = Command(
    "REQUEST_SOUNDBOARD_SOUNDS", GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS, RequestSoundboardSounds
)
"""Requests the soundboard sounds of guilds; the server responds with SOUNDBOARD_SOUNDS for each."""

GET_GATEWAY = Operation("GET", "/gateway", result=GatewayUrl, auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS)

GET_BOT_GATEWAY = Operation("GET", "/gateway/bot", result=BotGateway, auth=Auth.BOT)
