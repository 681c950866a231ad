"""What an operator may decide, where it came from, and clear words when it is wrong.

Every setting has one key: `port`, or `gateway.heartbeat_interval_ms` inside a group. It stands under `[gateway]` in the
TOML file, is `HUBBUB_GATEWAY_HEARTBEAT_INTERVAL_MS` in the environment and `--gateway-heartbeat-interval-ms` as a flag. A
flag wins over the environment, the environment over the file, the file over the command's own defaults.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from hubbub.protocol import wire
from hubbub.protocol.ids import EPOCH_MS, LATEST_MS
from hubbub.server.core.logs import Secrets

ENVIRONMENT_PREFIX: Final = "HUBBUB_"
FILE_VARIABLE: Final = "HUBBUB_CONFIG"
AGENT_PREFIX: Final = "HUBBUB_AGENT_"
"""Settings of `hubbub agent`, which may run beside us."""
"""Names the TOML file where no flag does."""

Role = Literal["api", "gateway", "voice", "worker"]
ROLES: Final[tuple[Role, ...]] = ("api", "gateway", "voice", "worker")

LARGE_BOT_STARTS: Final = 2000
LARGE_BOT_STARTS_PER_1000: Final = 5
"""Sessions that a large bot may begin in a day: so many at least, and so many for 1,000 guilds (gateway.md 4.1)."""

KIB: Final = 1024
MIB: Final = 1024 * KIB

_HOST: Final = r"^(?=.{1,200}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"

Count = Annotated[int, Meta(ge=0)]
Bytes = Annotated[int, Meta(ge=1 * KIB)]
Milliseconds = Annotated[int, Meta(ge=1)]

# A Kubernetes service called "hubbub" puts variables of these forms into every container beside it.
_SERVICE_LINK = re.compile(r"HUBBUB(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)")


class ConfigError(Exception):
    """A setting that cannot be used: which, where it came from, and what is allowed."""

    def __init__(self, key: str, source: str, problem: str) -> None:
        super().__init__(f"{key} ({source}): {problem}")
        self.key = key
        self.source = source
        self.problem = problem


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The log."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least level of our own records."""
    library_level: Literal["debug", "info", "warning", "error"] = "warning"
    """The least level of records from libraries."""
    format: Literal["json", "text", "auto"] = "auto"
    """JSON lines, or key=value lines; auto is text on a terminal and JSON elsewhere."""
    requests: bool = False
    """One record for each HTTP request."""


class HttpConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The HTTP door."""

    max_body_bytes: Bytes = 2 * MIB
    """The largest JSON or form body; above it 413 with code 40005."""
    max_upload_bytes: Bytes = 102 * MIB
    """The largest multipart body, and JSON body with pictures in it. Spec, http.md: ten files of the usual limit, or one of a
    guild of the third tier; with room for what is said beside them."""
    max_file_bytes: Bytes = 10 * MIB
    """The largest file of a caller without a raised limit."""
    max_depth: Annotated[int, Meta(ge=8, le=500)] = 64
    """How deep JSON may nest."""
    read_timeout_ms: Milliseconds = 60_000
    """How long a request may take to arrive."""
    invalid_requests: Count = 0
    """401, 403 and 429 that one address may collect before it is blocked; 0 is off, the public value is 10000."""
    invalid_requests_window_ms: Milliseconds = 600_000
    global_requests: Count = 50
    """Requests per second that one bot may make over all routes; 0 is off."""
    trusted_proxies: Count = 0
    """How many proxies before us add to X-Forwarded-For; 0 takes the peer's own address."""

    @property
    def largest_file_bytes(self) -> int:
        """The largest file that a multipart body can bring beside what is said with it, whoever sends it."""
        return self.max_upload_bytes - min(self.max_body_bytes, self.max_upload_bytes // 2)


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway door."""

    heartbeat_interval_ms: Annotated[int, Meta(ge=100)] = 41_250
    heartbeat_grace: Annotated[float, Meta(gt=1.0)] = 1.5
    """Intervals without a heartbeat after which a connection is closed."""
    hello_timeout_ms: Milliseconds = 60_000
    """How long a connection may stay without Identify or Resume."""
    max_frame_bytes: Annotated[int, Meta(ge=1024)] = 15 * KIB
    """The largest frame a client may send; 4096 is the strict public value."""
    replay_events: Count = 10_000
    replay_ms: Count = 300_000
    """How long a session without a connection can be resumed."""
    replay_bytes: Bytes = 32 * MIB
    outgoing_buffer_bytes: Bytes = 10 * MIB
    """What may wait for a slow client; above it the connection is closed with 4000 and may resume."""
    session_starts: Annotated[int, Meta(ge=1)] = 1000
    """Identifies that a bot may make in a day."""
    max_concurrency: Annotated[int, Meta(ge=1)] = 1
    """Identifies that a bot may make in five seconds."""
    large_bot_guilds: Count = 150_000
    """From so many guilds on a bot is large: it may start more sessions, and its shards come in a fixed multiple; 0 is off."""
    large_bot_concurrency: Annotated[int, Meta(ge=1)] = 16
    """`max_concurrency` of a large bot, and the number that its count of shards is a multiple of."""
    commands: Annotated[int, Meta(ge=1)] = 120
    """Commands that a connection may send in sixty seconds."""
    resume_url: str | None = None
    """wss://... of this very process, where its sessions are resumed; by default that of `public_url`. Where a balancer is before
    several, each has its own."""
    drain_ms: Count = 10_000
    """How long sessions are given to leave after Reconnect when the server stops."""
    disabled_functions: tuple[str, ...] = ()
    """Operations of the SDK that games are told not to use (`CreateOrJoinLobby`); they answer Disabled there."""
    disabled_gateway_events: tuple[str, ...] = ()
    """Events that games are not sent."""

    def is_large(self, guilds: int) -> bool:
        """Whether a bot in so many guilds is a large one."""
        return 0 < self.large_bot_guilds <= guilds

    def starts(self, guilds: int) -> tuple[int, int]:
        """How many sessions a bot in so many guilds may begin in a day, and in five seconds (gateway.md 4.1)."""
        if not self.is_large(guilds):
            return self.session_starts, self.max_concurrency
        total = max(LARGE_BOT_STARTS, guilds * LARGE_BOT_STARTS_PER_1000 // 1000, self.session_starts)
        return total, max(self.large_bot_concurrency, self.max_concurrency)


class VoiceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server. It is there where a certificate is given, or an endpoint at which a proxy speaks TLS for it."""

    endpoint: str | None = None
    """host[:port] that clients open wss:// at; by default the host of `public_url` and our own port."""
    host: str | None = None
    """The IPv4 address to listen at; by default `host`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """0 picks a free port."""
    udp_port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    public_address: str | None = None
    """The IPv4 address that clients send packets to; by default the one we listen at."""
    certificate: str | None = None
    """A PEM file with the certificate of the endpoint and those above it."""
    key: str | None = None
    """A PEM file with its private key; by default in the same file."""
    authority: str | None = None
    """A PEM file with the authority that made the certificate, where clients do not know it: the ready file names it."""
    heartbeat_interval_ms: Annotated[int, Meta(ge=100)] = 13_750
    identify_timeout_ms: Milliseconds = 10_000
    """How long a connection may stay without Identify or Resume."""


class BusConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The bus between processes."""

    prefix: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$")] = "hubbub"
    """The first word of every NATS subject, so that platforms can share a NATS."""
    max_pending_bytes: Bytes = 64 * MIB
    """What may wait while NATS cannot be reached."""


class IdentityConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Who may say who a player is. A rehearsal stands in for the providers whose addresses are not given."""

    id_token_algorithm: Literal["RS256", "ES256"] = "RS256"
    """What our own ID tokens are signed with. RS256 is what clients of the public platform expect; ES256 costs far less."""
    any_issuer: bool = False
    """Whether OIDC issuers may be at any address, http and single names too: for networks without public ones."""
    steam_url: str | None = None
    """Where Steam's tickets are checked; by default https://partner.steam-api.com."""
    steam_key: Annotated[str, Meta(min_length=1)] | None = None
    """The publisher's key of Steam's web API."""
    epic_url: str | None = None
    """Epic Online Services; by default https://api.epicgames.dev."""
    unity_url: str | None = None
    """Unity's player authentication; by default https://player-auth.services.api.unity.com."""
    apple_url: str | None = None
    """By default https://appleid.apple.com."""
    playstation_url: str | None = None
    """PlayStation Network; by default https://auth.account.sony.com."""


class ActivitiesConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The proxy of activities, which serves each on a host of its own: `{application_id}.{proxy_host}`."""

    proxy_host: Annotated[str, Meta(pattern=_HOST)] | None = None
    """The domain below which activities are served on our port; none: nothing is proxied. It must not share cookies with the
    platform's own pages, and needs a wildcard name and certificate."""
    max_request_bytes: Bytes = 25 * MIB
    """The largest body that is passed on to an application's own server."""
    max_response_bytes: Bytes = 512 * MIB
    """The largest answer that is passed back."""
    timeout_ms: Milliseconds = 60_000
    """How long a target may take to answer, and then to say more."""
    connections: Annotated[int, Meta(ge=1)] = 200
    """Requests and WebSockets that one application may have under way in one process."""


ModeratedWord = Annotated[str, Meta(min_length=1, max_length=60)]


class AutoModerationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Words that the operator adds to the lists of KEYWORD_PRESET rules, written as in any rule (`word`, `word*`, `*word*`)."""

    profanity: tuple[ModeratedWord, ...] = ()
    sexual_content: tuple[ModeratedWord, ...] = ()
    slurs: tuple[ModeratedWord, ...] = ()
    names: tuple[ModeratedWord, ...] = ()
    """What no name or description of a guild, name of a channel or topic of a stage may hold."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an operator may decide."""

    data: str | None = None
    """The folder of the embedded database and files; none keeps everything in memory."""
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    """0 picks a free port."""
    public_url: str | None = None
    """The address that clients reach us at; by default http://host:port."""
    database_url: str | None = None
    """postgresql://... instead of the embedded database."""
    database_cache_bytes: Bytes = 64 * MIB
    """Pages that the embedded database keeps in memory, for each of its five connections."""
    nats_url: str | None = None
    """nats://...; several servers are separated by commas. None: one process, no bus needed."""
    files_url: str | None = None
    """A folder, file://..., memory:// or s3://bucket/prefix?...; by default `files` in the data folder."""
    roles: frozenset[Role] = frozenset(ROLES)
    worker: Annotated[int, Meta(ge=0, le=31)] = 0
    """The number of this process among all that share a database: it keeps ids apart."""
    publisher_connection_types: frozenset[str] = frozenset({"riotgames", "leagueoflegends"})
    """Connections of these types are not listed from 10 July 2026, and those of the new scheme never (dated-changes.md 2.7)."""
    rate_limits: Literal["off", "real", "report"] = "real"
    approval_caps: Literal["off", "real", "report"] = "off"
    """Whether applications that are not approved for the social layer do less of it in two hours (sdk.md 16)."""
    seed: int | None = None
    """Makes the ids and tokens of a world repeatable."""
    world: str | None = None
    """A world file."""
    now: datetime | None = None
    """The time that a controlled clock starts at."""
    ready_file: str | None = None
    """Written when connections are accepted."""
    control: bool = False
    """Whether the control API exists."""
    control_token: Annotated[str, Meta(min_length=16)] | None = None
    """What the control API asks for; by default a fresh one at each start."""
    private_targets: bool = False
    """Whether outgoing calls may go to private, loopback and link-local addresses."""
    payments: str | None = None
    """What takes payments, as `module:name`; by default a rehearsal grants everything, and else nothing is for sale."""
    registration: bool = True
    """Whether anybody may register."""
    search_at_once: bool = False
    """Whether the first search of a guild waits until its messages are indexed, instead of answering 202."""
    log: LogConfig = LogConfig()
    http: HttpConfig = HttpConfig()
    gateway: GatewayConfig = GatewayConfig()
    voice: VoiceConfig = VoiceConfig()
    bus: BusConfig = BusConfig()
    identity: IdentityConfig = IdentityConfig()
    auto_moderation: AutoModerationConfig = AutoModerationConfig()
    activities: ActivitiesConfig = ActivitiesConfig()

    @property
    def web_url(self) -> str:
        """The root of all addresses, without a slash at the end; also the issuer of ID tokens."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @property
    def cdn_url(self) -> str:
        """Where files are served from."""
        return f"{self.web_url}/cdn"

    @property
    def activity_origins(self) -> str | None:
        """Where activities are served, with `*` for an application's id, as a content policy writes it; None where none are. Scheme
        and port are those of `public_url`."""
        if self.activities.proxy_host is None:
            return None
        parts = urlsplit(self.web_url)
        port = f":{parts.port}" if parts.port is not None else ""
        return f"{parts.scheme}://*.{self.activities.proxy_host}{port}"

    def activity_origin(self, application_id: int) -> str | None:
        """Where an application's activity is served, or None where no activity is."""
        origins = self.activity_origins
        return None if origins is None else origins.replace("*", str(int(application_id)), 1)

    @property
    def now_ms(self) -> int | None:
        """`now` in unix milliseconds."""
        return None if self.now is None else wire.milliseconds(self.now)


def _keys() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(Config):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found |= {f"{field.name}.{inner.name}": inner.type for inner in msgspec.structs.fields(field.type)}
        else:
            found[field.name] = field.type
    return found


KEYS: Final[Mapping[str, Any]] = _keys()
"""Every key and its type."""

_BY_VARIABLE: Final = {ENVIRONMENT_PREFIX + key.upper().replace(".", "_"): key for key in KEYS}
_BY_FLAG: Final = {key.replace(".", "_"): key for key in KEYS}

_SCHEMES: Final = {
    "public_url": ("http", "https"),
    "gateway.resume_url": ("ws", "wss"),
    "database_url": ("postgresql", "postgres"),
    "nats_url": ("nats", "tls", "ws", "wss"),
    **dict.fromkeys(
        (f"identity.{each}_url" for each in ("steam", "epic", "unity", "apple", "playstation")), ("http", "https")
    ),
}
_FILE_SCHEMES: Final = ("", "file", "memory", "s3")
_HIDDEN: Final = ("control_token", "identity.steam_key")
"""Settings that are secrets themselves: a message about them does not repeat them."""
_MODERATED: Final = tuple(f"auto_moderation.{field}" for field in AutoModerationConfig.__struct_fields__)
_LISTS: Final = (
    *_MODERATED,
    "roles",
    "publisher_connection_types",
    "gateway.disabled_functions",
    "gateway.disabled_gateway_events",
)
"""Settings that are several words, separated by commas in flags and the environment."""
_WORDS: Final = dict.fromkeys(("true", "on", "yes", "1"), True) | dict.fromkeys(("false", "off", "no", "0"), False)


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: str | Path | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration; ConfigError names the first setting that cannot be used.

    `flags` maps keys (dots or underscores) to values, None meaning not given; `defaults` are those of the command.
    """
    environ = environ or {}
    settings: dict[str, tuple[Any, str]] = {}
    for key, value in (defaults or {}).items():
        settings[_key_of(key, "default of the command")] = (value, "default of the command")
    path = file if file is not None else environ.get(FILE_VARIABLE)
    if path is not None:
        settings |= _from_file(Path(path))
    settings |= _from_environment(environ)
    for name, value in (flags or {}).items():
        flag = f"flag --{name.replace('.', '-').replace('_', '-')}"
        key = _key_of(name, flag)
        if value is not None:
            settings[key] = (value, flag)
    return _build(settings)


def _key_of(name: str, source: str) -> str:
    key = _BY_FLAG.get(name.replace(".", "_").replace("-", "_"))
    if key is None:
        raise ConfigError(name, source, _unknown(name, list(KEYS)))
    return key


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"no such setting; did you mean {close[0]}?" if close else "no such setting"


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        with path.open("rb") as stream:
            content = tomllib.load(stream)
    except OSError as error:
        raise ConfigError("config", f"file {path}", f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError("config", f"file {path}", f"is not TOML: {error}") from None
    source = f"file {path}"
    found: dict[str, tuple[Any, str]] = {}
    for name, value in content.items():
        inner = value if isinstance(value, dict) else {None: value}
        for part, one in inner.items():
            key = name if part is None else f"{name}.{part}"
            if key not in KEYS:
                raise ConfigError(key, source, _unknown(key, list(KEYS)))
            found[key] = (one, source)
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    found: dict[str, tuple[Any, str]] = {}
    for name, value in environ.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or name == FILE_VARIABLE or name.startswith(AGENT_PREFIX):
            continue
        key = _BY_VARIABLE.get(name)
        if _SERVICE_LINK.fullmatch(name) and (key is None or value.startswith(("tcp://", "udp://"))):
            continue
        if key is None:
            raise ConfigError(name, "environment", _unknown(name, list(_BY_VARIABLE)))
        found[key] = (value, f"environment {name}")
    return found


def _build(settings: Mapping[str, tuple[Any, str]]) -> Config:
    values: dict[str, Any] = {}
    for key, (raw, source) in settings.items():
        value = _read(key, raw, source)
        group, _, inner = key.rpartition(".")
        if group:
            values.setdefault(group, {})[inner] = value
        else:
            values[key] = value
    groups = {
        field.name: field.type(**values.pop(field.name))
        for field in msgspec.structs.fields(Config)
        if isinstance(values.get(field.name), dict)
    }
    return Config(**groups, **values)


def _read(key: str, raw: Any, source: str) -> Any:
    kind = KEYS[key]
    value = raw
    # Words from flags and the environment may mean numbers; what TOML already typed must fit as it is.
    word = isinstance(raw, str) and not source.startswith("file ")
    if isinstance(raw, str):
        value = raw.strip()
        if kind is bool and word:
            value = _WORDS.get(value.lower(), value)
        elif key in _LISTS:
            value = [word.strip() for word in value.split(",") if word.strip()]
    elif isinstance(raw, Path):
        value = str(raw)
    try:
        read = msgspec.convert(value, kind, strict=not word)
    except msgspec.ValidationError:
        raise ConfigError(key, source, f"{_shown(key, raw)} is not allowed; allowed: {allowed(key)}") from None
    if read is not None and _wrong(key, read):
        raise ConfigError(key, source, f"{_shown(key, raw)} is not allowed; allowed: {allowed(key)}")
    return read


def _wrong(key: str, value: Any) -> bool:
    if key == "roles":
        return not value
    if key in _MODERATED:
        # Stars alone would match every text.
        return not all(word.strip("* ") for word in value)
    if key == "now":
        return not EPOCH_MS <= wire.milliseconds(value) <= LATEST_MS
    if key == "files_url":
        scheme = str(value).partition(":")[0] if "://" in str(value) else ""
        return scheme not in _FILE_SCHEMES
    if key not in _SCHEMES:
        return False
    try:
        parts = [urlsplit(part.strip()) for part in str(value).split(",")]
        return any(part.scheme not in _SCHEMES[key] or not (part.hostname or key == "database_url") for part in parts)
    except ValueError:
        return True


def _shown(key: str, raw: Any) -> str:
    if key in _HIDDEN:
        return "what was given"
    # A database address may carry a password.
    return Secrets().clean(repr(raw))[:200]


def allowed(key: str) -> str:
    """What a key admits, in words."""
    if key in _SCHEMES:
        return "an address that starts with " + " or ".join(f"{scheme}://" for scheme in _SCHEMES[key])
    if key == "roles":
        return "one or more of " + ", ".join(ROLES)
    if key in _MODERATED:
        return "words of up to 60 characters, none of stars alone, separated by commas"
    if key in _LISTS:
        return "words separated by commas"
    if key == "files_url":
        return "a folder, file://..., memory:// or s3://bucket/prefix?..."
    if key == "activities.proxy_host":
        return "a host name in lower case, such as activities.example.org"
    if key == "now":
        return "a time such as 2026-12-01T00:00:00Z, from 2015 to 2083"
    return _words(msgspec.inspect.type_info(KEYS[key]))


def default(key: str) -> str | None:
    """What a key is where nobody says anything, as one would write it; None where it is nothing then."""
    group, _, inner = key.rpartition(".")
    value = getattr(getattr(Config(), group) if group else Config(), inner)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    return None if value is None else str(value)


def _words(kind: msgspec.inspect.Type) -> str:
    inspect = msgspec.inspect
    if isinstance(kind, inspect.UnionType):
        return " or ".join(_words(part) for part in kind.types if not isinstance(part, inspect.NoneType))
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        words = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
        if kind.ge is not None:
            words += f" from {kind.ge}"
        if kind.gt is not None:
            words += f" above {kind.gt}"
        return words if kind.le is None else f"{words} to {kind.le}"
    if isinstance(kind, inspect.BoolType):
        return "true or false"
    if isinstance(kind, inspect.DateTimeType):
        return "a time such as 2026-12-01T00:00:00Z"
    if isinstance(kind, inspect.StrType) and kind.pattern is not None:
        return f"text that matches {kind.pattern}"
    if isinstance(kind, inspect.StrType) and kind.min_length is not None:
        return f"text of {kind.min_length} characters or more"
    return "text"
