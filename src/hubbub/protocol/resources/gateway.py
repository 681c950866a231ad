"""The gateway's own words: how a session begins, what it may ask for, and where to find the socket."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import GuildId, Snowflake, parse_wide
from hubbub.protocol.operation import Auth, Command, Event, Operation
from hubbub.protocol.resources.applications import FlaggedApplication
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.protocol.resources.guilds import UnavailableGuild
from hubbub.protocol.resources.presence import Presence, SetPresence
from hubbub.protocol.resources.read_states import ReadStates
from hubbub.protocol.resources.soundboard import SoundboardSounds
from hubbub.protocol.resources.users import MyUser, User

HEARTBEAT_INTERVAL_MS = 41_250
LARGE_THRESHOLD_MIN = 50
LARGE_THRESHOLD_MAX = 250
COMMANDS_MAX = 120
COMMANDS_SECONDS = 60
"""At most COMMANDS_MAX frames from a client in so many seconds, heartbeats included; then close 4008."""
GUILDS_PER_SHARD_MAX = 2500
SESSION_STARTS_PER_DAY = 1000
REQUESTED_MEMBERS_MAX = 100
NONCE_BYTES_MAX = 32
ALL_MEMBERS_SECONDS = 30
"""One request for all members per guild and bot in so many seconds."""


class GatewayUrl(Struct, kw_only=True):
    """Where the gateway is."""

    url: str


class SessionStartLimit(Struct, kw_only=True):
    """How many sessions a bot may still begin."""

    total: int
    remaining: int
    reset_after: int
    """Milliseconds."""
    max_concurrency: int
    """How many may identify within five seconds."""


class BotGateway(GatewayUrl, kw_only=True):
    """Where the gateway is, and how a bot should spread over it."""

    shards: int
    session_start_limit: SessionStartLimit


class Hello(Struct, kw_only=True):
    """The server's first word."""

    heartbeat_interval: int
    """Milliseconds."""
    trace: list[str] = field(name="_trace", default_factory=list)


class Identify(Struct, kw_only=True):
    """Begins a session; tolerant, since libraries differ in what they send (clients.md)."""

    token: str
    """With or without the prefix `Bot `; with `Bearer ` for OAuth2 sessions."""
    properties: dict[str, Any] = {}
    intents: int | UnsetType = UNSET
    """Bots must say them; their absence closes the socket with 4013."""
    compress: bool | str | int | None = False
    large_threshold: int | None = None
    """Clamped to LARGE_THRESHOLD_MIN and LARGE_THRESHOLD_MAX; the former where absent."""
    shard: list[int] | None = None
    """This shard and how many there are; [0, 1] where absent. A bad one closes the socket with 4010."""
    presence: SetPresence | None = None
    capabilities: int | None = 0


class Resume(Struct, kw_only=True):
    """Goes on with a session on a new socket."""

    token: str
    session_id: str
    seq: int | None
    """The last sequence number that was seen."""


class RequestGuildMembers(Struct, kw_only=True):
    """Asks for members by name, by id, or for all. Ids stay as they were sent, since `not_found` echoes them."""

    guild_id: str | int | list[str | int]
    """One guild; people may name several."""
    query: str | None | UnsetType = UNSET
    """The beginning of a name; empty with limit 0 asks for everybody."""
    limit: int | None | UnsetType = UNSET
    user_ids: str | int | list[str | int] | None | UnsetType = UNSET
    presences: bool | None = False
    nonce: str | None | UnsetType = UNSET
    """Echoed, unless it is longer than NONCE_BYTES_MAX."""

    @property
    def guild_ids(self) -> list[GuildId]:
        """The guilds asked for; ValueError where one is no id."""
        sent = self.guild_id if isinstance(self.guild_id, list) else [self.guild_id]
        return [parse_wide(GuildId, value) for value in sent]

    @property
    def wanted(self) -> list[str | int]:
        """The user ids asked for, as they were sent."""
        if isinstance(self.user_ids, list):
            return self.user_ids
        return [] if self.user_ids is None or isinstance(self.user_ids, UnsetType) else [self.user_ids]


class RequestSoundboardSounds(Struct, kw_only=True):
    """Asks for the sounds of guilds."""

    guild_ids: list[GuildId]


class FeatureFlags(Struct, kw_only=True):
    """What the operator switched off for games."""

    disabled_functions: list[str] = []
    """Operations of the SDK, by name."""
    disabled_gateway_events: list[str] = []


class Ready(Struct, kw_only=True):
    """The first dispatch of a session: who you are and where."""

    v: int
    user: MyUser
    guilds: list[UnavailableGuild]
    """Their content follows in a GUILD_CREATE each."""
    session_id: str
    resume_gateway_url: str
    application: FlaggedApplication | UnsetType = UNSET
    """Absent in a person's session."""
    shard: list[int] | UnsetType = UNSET
    """Present where Identify had it."""
    private_channels: list[PrivateChannel] = []
    relationships: list[Any] = []
    presences: list[Any] = []
    user_settings: dict[str, Any] = {}
    session_type: str = "normal"
    geo_ordered_rtc_regions: list[str] = []
    guild_join_requests: list[Any] = []
    scopes: list[str] | UnsetType = UNSET
    """In OAuth2 sessions this and all below: what was granted, in full."""
    users: list[User] | UnsetType = UNSET
    """With `Capabilities.DEDUPE_USER_OBJECTS`: everybody who is elsewhere named by id only."""
    game_relationships: list[Any] | UnsetType = UNSET
    """Also in people's sessions."""
    read_state: ReadStates | UnsetType = UNSET
    """Only in people's sessions."""
    lobbies: list[Any] | UnsetType = UNSET
    """With `Capabilities.AUTO_LOBBY_CONNECT`; without it LOBBY_CREATE follows for each."""
    user_application_profiles: dict[str, Any] | UnsetType = UNSET
    """By user."""
    feature_flags: FeatureFlags | UnsetType = UNSET
    av_sf_protocol_floor: int | UnsetType = UNSET
    """The lowest version of end-to-end encryption that calls take."""
    trace: list[str] = field(name="_trace", default_factory=list)


class MergedPresences(Struct, kw_only=True):
    """Who is there, as a session begins."""

    guilds: list[Any] = []
    friends: list[Presence] = []


class ReadySupplemental(Struct, kw_only=True):
    """The second part of READY, for clients that asked for two (`Capabilities.PRIORITIZED_READY_PAYLOAD`)."""

    merged_presences: MergedPresences
    lazy_private_channels: list[Any] = []
    game_invites: list[Any] = []


class Resumed(Struct, kw_only=True):
    """All missed events were sent again; an object, since discord.py writes into it."""

    trace: list[str] = field(name="_trace", default_factory=list)


class RateLimitedRequest(Struct, kw_only=True):
    """Which request was refused."""

    guild_id: Snowflake
    nonce: str | UnsetType = UNSET


class RateLimited(Struct, kw_only=True):
    """A command that came too soon; the socket stays open."""

    opcode: int
    retry_after: float
    """Seconds."""
    meta: RateLimitedRequest


READY = Event("READY", Ready)
READY_SUPPLEMENTAL = Event("READY_SUPPLEMENTAL", ReadySupplemental)
RESUMED = Event("RESUMED", Resumed)
RATE_LIMITED = Event("RATE_LIMITED", RateLimited)
SOUNDBOARD_SOUNDS = Event("SOUNDBOARD_SOUNDS", SoundboardSounds)

REQUEST_GUILD_MEMBERS = Command("REQUEST_GUILD_MEMBERS", GatewayOpcode.REQUEST_GUILD_MEMBERS, RequestGuildMembers)
REQUEST_SOUNDBOARD_SOUNDS = Command(
    "REQUEST_SOUNDBOARD_SOUNDS", GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS, RequestSoundboardSounds
)

GET_GATEWAY = Operation("GET", "/gateway", result=GatewayUrl, auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE)

GET_BOT_GATEWAY = Operation("GET", "/gateway/bot", result=BotGateway, auth=Auth.BOT)
