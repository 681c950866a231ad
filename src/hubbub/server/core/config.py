"""The server's configuration: all settings, their sources, and error messages for invalid ones.

Every setting has one key: `port`, or `gateway.heartbeat_interval_ms` inside a group. It is in section `[gateway]` of
the TOML file, `HUBBUB_GATEWAY_HEARTBEAT_INTERVAL_MS` in the environment and `--gateway-heartbeat-interval-ms` as a
flag. A flag overrides the environment, the environment overrides the file, and the file overrides the command's own
defaults.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta

from hubbub.protocol import codec
from hubbub.protocol.ids import EPOCH_MS, LATEST_MS
from hubbub.protocol.resources import attachments, gateway
from hubbub.server.core.config_descriptions import describe_type
from hubbub.server.core.config_sections import (
    HOST_LIST_KEYS,
    KIB,
    MIB,
    ActivitiesConfig,
    AutoModerationConfig,
    BusConfig,
    Bytes,
    IdentityConfig,
    LinkPreviewsConfig,
    LogConfig,
    MailConfig,
    Milliseconds,
    ProtectionConfig,
    PushConfig,
    RetentionConfig,
    ScanningConfig,
    StorageConfig,
    TelemetryConfig,
    VoiceConfig,
    WebConfig,
)
from hubbub.server.core.login_config import LoginConfig, load_providers
from hubbub.server.core.logs import Secrets
from hubbub.server.core.registration_config import RegistrationConfig

ENVIRONMENT_PREFIX: Final = "HUBBUB_"
FILE_VARIABLE: Final = "HUBBUB_CONFIG"
"""Environment variable with the path of the TOML file, used if no flag gives one."""
AGENT_PREFIX: Final = "HUBBUB_AGENT_"
"""Prefix of the settings of `hubbub agent`, which may run on the same machine."""

Role = Literal["api", "gateway", "voice", "worker"]
ROLES: Final[tuple[Role, ...]] = ("api", "gateway", "voice", "worker")

LARGE_BOT_STARTS_MIN: Final = 2000
"""Minimum number of sessions that a large bot may start per day (spec/gateway.md#4.1)."""
LARGE_BOT_STARTS_PER_1000: Final = 5
"""Number of sessions that a large bot may start per day for every 1,000 guilds (spec/gateway.md#4.1)."""

Count = Annotated[int, Meta(ge=0)]

RawSettings = dict[str, tuple[Any, str]]
"""The raw value of each given setting by its key, with its source for error messages, such as `environment HUBBUB_PORT`."""

# A Kubernetes service named "hubbub" adds variables of these forms to every container of its namespace.
_SERVICE_LINK_PATTERN = re.compile(r"HUBBUB(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)")


ANY_ORIGIN: Final = "*"
"""Value of `http.allowed_origins` that allows every origin and host name."""


class ConfigError(Exception):
    """An invalid setting: its key, its source, and the problem."""

    def __init__(self, key: str, source: str, problem: str) -> None:
        super().__init__(f"{key} ({source}): {problem}")
        self.key = key
        self.source = source
        self.problem = problem


class HttpConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The HTTP server: sizes, timeouts, limits of requests, trusted proxies and allowed origins."""

    body_bytes_max: Bytes = 2 * MIB
    """The maximum size of a JSON or form body; larger ones are rejected with 413 (REQUEST_ENTITY_TOO_LARGE)."""
    upload_bytes_max: Bytes = 102 * MIB
    """The maximum size of a multipart body, or of a JSON body with images.

    It must hold ten files of the usual limit, or one file of a guild of the third tier, and the message (spec/http.md#1.11)."""
    file_bytes_max: Bytes = attachments.ATTACHMENT_BYTES_MAX_BY_TIER[0]
    """The maximum size of a file for a caller without a raised limit."""
    depth_max: Annotated[int, Meta(ge=8, le=500)] = 64
    """The maximum nesting depth of JSON."""
    read_timeout_ms: Milliseconds = 60_000
    """The maximum time until a request has arrived completely."""
    pending_requests_max: Annotated[int, Meta(ge=1)] = 512
    """The maximum number of API requests that wait for the database; further ones are rejected with 503 and Retry-After."""
    pending_timeout_ms: Milliseconds = 5_000
    """The maximum time until the database starts the operation of a request, which is otherwise rejected with 503."""
    invalid_requests_max: Count = 0
    """The maximum number of responses 401, 403 and 429 before an IP address is blocked.

    0 turns blocking off; the public value is 10,000."""
    invalid_requests_window_ms: Milliseconds = 600_000
    """The period in which the responses of `invalid_requests_max` are counted."""
    global_requests_max: Count = 50
    """The maximum number of requests per second of one caller over all routes; 0 turns the limit off.

    A caller is a bot, a user, a user of an OAuth2 application, or without a token an IP address."""
    trusted_proxies: Count = 0
    """The number of trusted proxies that append to X-Forwarded-For; 0 uses the peer's own address."""
    allowed_origins: tuple[str, ...] = (ANY_ORIGIN,)
    """Origins of web pages that may call the API and the gateway, such as https://game.example; `*` for all.

    Without `*` only known host names are served (decisions/0077)."""

    @property
    def multipart_file_bytes_max(self) -> int:
        """The maximum size of a file in a multipart body, for any caller; the rest is reserved for the message."""
        return self.upload_bytes_max - min(self.body_bytes_max, self.upload_bytes_max // 2)


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway server: heartbeats, limits of sessions and frames, resuming, and functions that games must not use."""

    heartbeat_interval_ms: Annotated[int, Meta(ge=100)] = gateway.HEARTBEAT_INTERVAL_MS
    """The interval at which clients send heartbeats."""
    heartbeat_grace: Annotated[float, Meta(gt=1.0)] = 1.5
    """The number of intervals without a heartbeat after which a connection is closed."""
    identify_timeout_ms: Milliseconds = 60_000
    """The maximum time until a connection sends Identify or Resume."""
    frame_bytes_max: Annotated[int, Meta(ge=1024)] = 15 * KIB
    """The maximum size of a frame from a client; 4096 is the strict public value."""
    replay_events_max: Count = 10_000
    """The maximum number of events that are stored per session for a resume."""
    replay_ms: Count = 300_000
    """The time during which a disconnected session can be resumed."""
    replay_bytes_max: Bytes = 32 * MIB
    """The maximum size of the events that are stored per session for a resume."""
    outgoing_buffer_bytes_max: Bytes = 10 * MIB
    """The maximum size of the buffer for a slow client; above it the connection is closed with 4000, resumable."""
    session_starts_max: Annotated[int, Meta(ge=1)] = gateway.SESSION_STARTS_PER_DAY
    """The maximum number of Identifies of a bot per day."""
    max_concurrency: Annotated[int, Meta(ge=1)] = 1
    """The maximum number of Identifies of a bot per five seconds."""
    large_bot_guilds: Count = 150_000
    """The minimum number of guilds of a large bot; 0 means that no bot is large.

    A large bot may start more sessions, and its shard count has a fixed divisor."""
    large_bot_concurrency: Annotated[int, Meta(ge=1)] = 16
    """`max_concurrency` of a large bot, and the divisor of its shard count."""
    commands_max: Annotated[int, Meta(ge=1)] = gateway.CLIENT_FRAMES_MAX
    """The maximum number of frames that a connection may send per sixty seconds."""
    resume_url: str | None = None
    """The wss:// URL of this process for resumes; by default derived from `public_url`, as a load balancer needs it."""
    has_session_copies: bool = True
    """Whether sessions are copied to another gateway process, if there is one, which continues them if this process is killed."""
    drain_ms: Count = 10_000
    """The time that sessions have to reconnect elsewhere when the server shuts down."""
    disabled_functions: tuple[str, ...] = ()
    """SDK functions that games must not use, such as `CreateOrJoinLobby`; calls of them fail with Disabled."""
    disabled_gateway_events: tuple[str, ...] = ()
    """Events that are not sent to games."""

    def is_large(self, guild_count: int) -> bool:
        """Return whether a bot in this number of guilds is a large bot."""
        return 0 < self.large_bot_guilds <= guild_count

    def session_start_limits(self, guild_count: int) -> tuple[int, int]:
        """Return the number of sessions that a bot in this number of guilds may start per day and per five seconds.

        See spec/gateway.md#4.1."""
        if not self.is_large(guild_count):
            return self.session_starts_max, self.max_concurrency
        total = max(LARGE_BOT_STARTS_MIN, guild_count * LARGE_BOT_STARTS_PER_1000 // 1000, self.session_starts_max)
        return total, max(self.large_bot_concurrency, self.max_concurrency)


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of the server."""

    data: str | None = None
    """The folder of the embedded database and files; None stores everything in memory."""
    host: str = "127.0.0.1"
    """The IP address or host name to listen on."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    """The HTTP port; 0 picks a free port."""
    public_url: str | None = None
    """The URL at which clients reach the server; by default http://host:port, or https:// with `tls`."""
    database_url: str | None = None
    """postgresql://..., to use instead of the embedded database."""
    database_cache_bytes: Bytes = 64 * MIB
    """The page cache of the embedded database, for each of its five connections."""
    nats_url: str | None = None
    """nats://..., with several servers separated by commas; None for a single process, which needs no bus."""
    files_url: str | None = None
    """A folder, file://..., memory:// or s3://bucket/prefix?...; by default `files` in the data folder."""
    roles: frozenset[Role] = frozenset(ROLES)
    """The tasks of this process: the HTTP API and pages, gateway connections, calls, and background jobs."""
    worker: Annotated[int, Meta(ge=0, le=31)] = 0
    """The number of this process among all processes that share a database; it makes IDs unique."""
    publisher_connection_types: frozenset[str] = frozenset({"riotgames", "leagueoflegends"})
    """Connection types that are hidden from 10 July 2026, and before it if created from 7 July (spec/dated-changes.md#2.7)."""
    rate_limits: Literal["off", "real", "report"] = "real"
    """Whether to enforce rate limits; `report` only lists requests over a limit."""
    approval_caps: Literal["off", "real", "report"] = "off"
    """Limits per two hours for applications that are not approved for the social layer (spec/sdk.md#16)."""
    seed: int | None = None
    """Makes the IDs and tokens of a world reproducible."""
    world: str | None = None
    """The path of a world file."""
    now: datetime | None = None
    """The time at which a controlled clock starts."""
    ready_file: str | None = None
    """The path of a file that is written when the server accepts connections."""
    control: bool = False
    """Whether to serve the control API."""
    tls: bool = False
    """Whether a rehearsal serves HTTPS, with a certificate of a generated certificate authority."""
    control_token: Annotated[str, Meta(min_length=16)] | None = None
    """The token of the control API; by default a new one at each start."""
    fork_ports: Annotated[str, Meta(pattern=r"^[0-9]{1,5}-[0-9]{1,5}$")] | None = None
    """The first and last port of forks, such as `40100-40131`, if only some ports are reachable; by default any free port."""
    allow_private_targets: bool = False
    """Whether outbound requests may go to private, loopback and link-local addresses."""
    payments: str | None = None
    """The payment provider as `module:name`; by default rehearsals accept every payment and other servers none."""
    allow_registration: bool = True
    """Whether new users can register."""
    search_waits_for_index: bool = False
    """Whether the first search of a guild waits until its messages are indexed, instead of returning 202."""
    log: LogConfig = LogConfig()
    http: HttpConfig = HttpConfig()
    gateway: GatewayConfig = GatewayConfig()
    voice: VoiceConfig = VoiceConfig()
    bus: BusConfig = BusConfig()
    identity: IdentityConfig = IdentityConfig()
    login: LoginConfig = LoginConfig()
    registration: RegistrationConfig = RegistrationConfig()
    auto_moderation: AutoModerationConfig = AutoModerationConfig()
    activities: ActivitiesConfig = ActivitiesConfig()
    mail: MailConfig = MailConfig()
    push: PushConfig = PushConfig()
    storage: StorageConfig = StorageConfig()
    scanning: ScanningConfig = ScanningConfig()
    web: WebConfig = WebConfig()
    protection: ProtectionConfig = ProtectionConfig()
    retention: RetentionConfig = RetentionConfig()
    link_previews: LinkPreviewsConfig = LinkPreviewsConfig()
    telemetry: TelemetryConfig = TelemetryConfig()

    @property
    def can_register(self) -> bool:
        """Whether visitors can register, possibly with an invite or an approval."""
        return self.allow_registration and self.registration.mode != "closed"

    @property
    def web_url(self) -> str:
        """The base URL without a trailing slash; also the issuer of ID tokens."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @property
    def push_contact(self) -> str | None:
        """The URL at which push services can reach the operator; None if there is none."""
        return self.push.contact or (self.web_url if self.web_url.startswith("https://") else None)

    @property
    def cdn_url(self) -> str:
        """The base URL of files."""
        return f"{self.web_url}/cdn"

    @property
    def fetch_user_agent(self) -> str:
        """The User-Agent header of requests for links in messages; it names the server, so that site owners can reach it."""
        return f"Mozilla/5.0 (compatible; Hubbub link preview; +{self.web_url})"

    @property
    def activity_origins(self) -> str | None:
        """The origins of activities, with `*` for the application ID; None without a proxy.

        Scheme and port are those of `public_url`. The value fits into a Content-Security-Policy."""
        if self.activities.proxy_host is None:
            return None
        parts = urlsplit(self.web_url)
        port = f":{parts.port}" if parts.port is not None else ""
        return f"{parts.scheme}://*.{self.activities.proxy_host}{port}"

    def activity_origin(self, application_id: int) -> str | None:
        """Return the origin of an application's activity, or None without a proxy."""
        origins = self.activity_origins
        return None if origins is None else origins.replace("*", str(int(application_id)), 1)

    @property
    def now_ms(self) -> int | None:
        """`now` in Unix milliseconds; None if it is not set."""
        return None if self.now is None else codec.milliseconds(self.now)


def _types_by_key() -> dict[str, Any]:
    """Return the type of every setting by its key."""
    types_by_key: dict[str, Any] = {}
    for field in msgspec.structs.fields(Config):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            types_by_key |= {
                f"{field.name}.{group_field.name}": group_field.type
                for group_field in msgspec.structs.fields(field.type)
            }
        else:
            types_by_key[field.name] = field.type
    return types_by_key


KEYS: Final[Mapping[str, Any]] = _types_by_key()
"""All keys with their types."""

_KEYS_BY_VARIABLE: Final = {ENVIRONMENT_PREFIX + key.upper().replace(".", "_"): key for key in KEYS}
_KEYS_BY_FLAG: Final = {key.replace(".", "_"): key for key in KEYS}

_SCHEMES: Final = {
    "public_url": ("http", "https"),
    "gateway.resume_url": ("ws", "wss"),
    "database_url": ("postgresql", "postgres"),
    "nats_url": ("nats", "tls", "ws", "wss"),
    "scanning.clamd_url": ("tcp", "unix"),
    "telemetry.endpoint": ("http", "https"),
    **dict.fromkeys(
        (f"identity.{provider}_url" for provider in ("steam", "epic", "unity", "apple", "playstation")),
        ("http", "https"),
    ),
}
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_FILE_SCHEMES: Final = ("", "file", "memory", "s3")
_SECRET_KEYS: Final = ("control_token", "identity.steam_key", "login.providers", "mail.password", "telemetry.headers")
"""Settings that are secrets; error messages do not repeat their values."""
_KEYWORD_LIST_KEYS: Final = tuple(f"auto_moderation.{field}" for field in AutoModerationConfig.__struct_fields__)
_LIST_KEYS: Final = (
    *_KEYWORD_LIST_KEYS,
    *HOST_LIST_KEYS,
    "roles",
    "publisher_connection_types",
    "http.allowed_origins",
    "gateway.disabled_functions",
    "gateway.disabled_gateway_events",
    "registration.allowed_email_domains",
    "registration.denied_email_domains",
)
"""Settings with several values, separated by commas in flags and the environment."""
_BOOLEANS: Final = dict.fromkeys(("true", "on", "yes", "1"), True) | dict.fromkeys(("false", "off", "no", "0"), False)


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: str | Path | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Config:
    """Load the configuration. Raise ConfigError for the first invalid setting.

    `flags` maps keys (with dots or underscores) to values, None meaning not given; `defaults` are the defaults of
    the command.
    """
    environ = environ or {}
    settings: RawSettings = {}
    for key, value in (defaults or {}).items():
        settings[_require_key(key, "command default")] = (value, "command default")
    path = file if file is not None else environ.get(FILE_VARIABLE)
    if path is not None:
        settings |= _from_file(Path(path))
    settings |= _from_environment(environ)
    for name, value in (flags or {}).items():
        flag = f"flag --{name.replace('.', '-').replace('_', '-')}"
        key = _require_key(name, flag)
        if value is not None:
            settings[key] = (value, flag)
    return _build_config(settings)


def _require_key(name: str, source: str) -> str:
    key = _KEYS_BY_FLAG.get(name.replace(".", "_").replace("-", "_"))
    if key is None:
        raise ConfigError(name, source, _unknown_setting_text(name, list(KEYS)))
    return key


def _unknown_setting_text(name: str, names: list[str]) -> str:
    matches = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"no such setting; did you mean {matches[0]}?" if matches else "no such setting"


def _from_file(path: Path) -> RawSettings:
    try:
        with path.open("rb") as stream:
            content = tomllib.load(stream)
    except OSError as error:
        raise ConfigError("config", f"file {path}", f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError("config", f"file {path}", f"is not TOML: {error}") from None
    source = f"file {path}"
    settings: RawSettings = {}
    for name, section_or_value in content.items():
        section = section_or_value if isinstance(section_or_value, dict) else {None: section_or_value}
        for section_key, raw_value in section.items():
            key = name if section_key is None else f"{name}.{section_key}"
            if key not in KEYS:
                raise ConfigError(key, source, _unknown_setting_text(key, list(KEYS)))
            settings[key] = (raw_value, source)
    return settings


def _from_environment(environ: Mapping[str, str]) -> RawSettings:
    settings: RawSettings = {}
    for name, value in environ.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or name == FILE_VARIABLE or name.startswith(AGENT_PREFIX):
            continue
        key = _KEYS_BY_VARIABLE.get(name)
        if _SERVICE_LINK_PATTERN.fullmatch(name) and (key is None or value.startswith(("tcp://", "udp://"))):
            continue
        if key is None:
            raise ConfigError(name, "environment", _unknown_setting_text(name, list(_KEYS_BY_VARIABLE)))
        settings[key] = (value, f"environment {name}")
    return settings


def _build_config(settings: RawSettings) -> Config:
    values: dict[str, Any] = {}
    for key, (raw_value, source) in settings.items():
        value = _convert_setting(key, raw_value, source)
        group, _, field_name = key.rpartition(".")
        if group:
            values.setdefault(group, {})[field_name] = value
        else:
            values[key] = value
    groups = {
        field.name: field.type(**values.pop(field.name))
        for field in msgspec.structs.fields(Config)
        if isinstance(values.get(field.name), dict)
    }
    config = Config(**groups, **values)
    _check_mail(config.mail, {key: source for key, (_, source) in settings.items() if key.startswith("mail.")})
    return config


def _check_mail(mail: MailConfig, sources: Mapping[str, str]) -> None:
    """Raise ConfigError if mail settings contradict each other. `sources` has the source of each given setting."""
    configured_keys = [
        key for key in sources if key != "mail.keep_in_memory" and getattr(mail, key.partition(".")[2]) is not None
    ]
    if mail.host is None:
        if configured_keys:
            key = configured_keys[0]
            problem = f"is required with {key}; set it to the host name of your SMTP server, or remove {key}"
            raise ConfigError("mail.host", sources[key], problem)
        return
    source = sources.get("mail.host", "mail")
    if mail.sender is None:
        example = "such as Example Chat <noreply@example.org>"
        raise ConfigError(
            "mail.sender", source, f"is required with mail.host; set it to the sender of all mail, {example}"
        )
    if (mail.username is None) != (mail.password is None):
        key, other_key = (
            ("mail.username", "mail.password") if mail.username is None else ("mail.password", "mail.username")
        )
        raise ConfigError(key, sources.get(other_key, source), f"is required with {other_key}; set both or neither")
    if mail.password is not None and mail.security == "none" and mail.host not in _LOCAL_HOSTS:
        problem = f"none would send the password to {mail.host} unencrypted; use starttls or tls"
        raise ConfigError("mail.security", sources.get("mail.security", source), problem)


def _convert_setting(key: str, raw_value: Any, source: str) -> Any:
    """Convert a raw value to the type of its setting. Raise ConfigError if it is not allowed."""
    if key == "login.providers":
        try:
            return load_providers(raw_value)
        except ValueError as error:
            raise ConfigError(key, source, f"{error}; allowed: {describe_allowed(key)}") from None
    setting_type = KEYS[key]
    value = raw_value
    # Text from flags and the environment may represent numbers; values typed by TOML must have the right type.
    is_text = isinstance(raw_value, str) and not source.startswith("file ")
    if isinstance(raw_value, str):
        value = raw_value.strip()
        if setting_type is bool and is_text:
            value = _BOOLEANS.get(value.lower(), value)
        elif key in _LIST_KEYS:
            value = [part.strip() for part in value.split(",") if part.strip()]
    elif isinstance(raw_value, Path):
        value = str(raw_value)
    try:
        converted_value = msgspec.convert(value, setting_type, strict=not is_text)
    except msgspec.ValidationError:
        raise ConfigError(
            key, source, f"{_display_value(key, raw_value)} is not allowed; allowed: {describe_allowed(key)}"
        ) from None
    if converted_value is not None and _is_invalid(key, converted_value):
        raise ConfigError(
            key, source, f"{_display_value(key, raw_value)} is not allowed; allowed: {describe_allowed(key)}"
        )
    return converted_value


def _is_invalid(key: str, value: Any) -> bool:
    if key == "roles":
        return not value
    if key in _KEYWORD_LIST_KEYS:
        # Asterisks alone would match every text.
        return not all(keyword.strip("* ") for keyword in value)
    if key == "http.allowed_origins":
        return not all(_is_origin(origin) for origin in value)
    if key == "mail.sender":
        return not _is_sender(value)
    if key == "now":
        return not EPOCH_MS <= codec.milliseconds(value) <= LATEST_MS
    if key == "files_url":
        scheme = str(value).partition(":")[0] if "://" in str(value) else ""
        return scheme not in _FILE_SCHEMES
    if key not in _SCHEMES:
        return False
    try:
        urls = [urlsplit(url.strip()) for url in str(value).split(",")]
        return any(url.scheme not in _SCHEMES[key] or not _has_target(key, url) for url in urls)
    except ValueError:
        return True


def _has_target(key: str, url: SplitResult) -> bool:
    if url.scheme == "unix":
        return bool(url.path) and not url.hostname
    return bool(url.hostname) or key == "database_url"


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return text == ANY_ORIGIN or (
            parts.scheme in ("http", "https") and bool(parts.hostname) and text == f"{parts.scheme}://{parts.netloc}"
        )
    except ValueError:
        return False


def _is_sender(text: str) -> bool:
    local_part, _, domain = parseaddr(text)[1].rpartition("@")
    return bool(local_part and domain) and text.isprintable()


def _display_value(key: str, raw_value: Any) -> str:
    """Return a raw value for an error message, without secrets."""
    if key in _SECRET_KEYS:
        return "the given value"
    # A database URL may contain a password.
    return Secrets().clean(repr(raw_value))[:200]


def describe_allowed(key: str) -> str:
    """Describe the allowed values of a key for an error message or help text."""
    if key in _SCHEMES:
        return "a URL that starts with " + " or ".join(f"{scheme}://" for scheme in _SCHEMES[key])
    if key == "roles":
        return "one or more of " + ", ".join(ROLES)
    if key in _KEYWORD_LIST_KEYS:
        return "keywords of up to 60 characters, not only asterisks, separated by commas"
    if key == "http.allowed_origins":
        return "origins such as https://game.example, separated by commas, or *"
    if key in HOST_LIST_KEYS:
        return "lowercase host names, separated by commas"
    if key in _LIST_KEYS:
        return "values separated by commas"
    if key == "files_url":
        return "a folder, file://..., memory:// or s3://bucket/prefix?..."
    if key == "activities.proxy_host":
        return "a lowercase host name, such as activities.example.org"
    if key == "login.providers":
        return "[[login.providers]] in the file or a JSON list of tables with id, name, issuer and client_id"
    if key == "mail.sender":
        return "an email address, such as noreply@example.org or Example Chat <noreply@example.org>"
    if key == "now":
        return "a time such as 2026-12-01T00:00:00Z, from 2015 to 2083"
    return describe_type(msgspec.inspect.type_info(KEYS[key]))


def default_text(key: str) -> str | None:
    """Return the default value of a key as text, or None if it has none."""
    group, _, field_name = key.rpartition(".")
    value = getattr(getattr(Config(), group) if group else Config(), field_name)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset | tuple):
        return ",".join(sorted(value)) or None
    return None if value is None else str(value)
