"""Sections of the configuration except those in `config.py`, `login_config.py` and `registration_config.py`, and shared types."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

KIB: Final = 1024
MIB: Final = 1024 * KIB

_HOST_PATTERN: Final = r"^(?=.{1,200}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"

Bytes = Annotated[int, Meta(ge=1 * KIB)]
"""A size in bytes, at least 1 KiB."""
Milliseconds = Annotated[int, Meta(ge=1)]
"""A duration in milliseconds, at least 1."""


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Levels and format of the log, and logging of requests and slow operations."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The minimum level of Hubbub's own log records."""
    library_level: Literal["debug", "info", "warning", "error"] = "warning"
    """The minimum level of log records from libraries."""
    format: Literal["json", "text", "auto"] = "auto"
    """JSON lines or key=value lines; auto is text on a terminal and JSON otherwise."""
    requests: bool = False
    """Whether to log every HTTP request."""
    slow_ms: Annotated[int, Meta(ge=0)] = 0
    """The duration from which an operation is logged as slow; 0 logs none. `hubbub serve`: 1000."""


class VoiceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server. It is enabled by a certificate, or by an endpoint at which a proxy terminates TLS."""

    endpoint: str | None = None
    """host[:port] that clients connect to with wss://; by default the host of `public_url` and the voice port."""
    host: str | None = None
    """The IPv4 address to listen on; by default the value of the setting `host`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """The WebSocket port; 0 picks a free port."""
    udp_port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """The UDP port for packets; 0 picks a free port."""
    public_address: str | None = None
    """The IPv4 address that clients send packets to; by default the address that the server listens on."""
    certificate_file: str | None = None
    """The path of a PEM file with the certificate chain of the endpoint."""
    key_file: str | None = None
    """The path of a PEM file with the private key of the certificate; by default the key is in the certificate's file."""
    ca_file: str | None = None
    """The path of a PEM file with the certificate authority, if clients do not trust it by default; listed in the ready file."""
    heartbeat_interval_ms: Annotated[int, Meta(ge=100)] = 13_750
    """The interval at which voice clients send heartbeats."""
    identify_timeout_ms: Milliseconds = 10_000
    """The maximum time until a connection sends Identify or Resume."""


class BusConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The message bus between processes."""

    prefix: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$")] = "hubbub"
    """The first token of every NATS subject, so that several installations can share a NATS server."""
    pending_bytes_max: Bytes = 64 * MIB
    """The maximum size of the buffer while NATS is unreachable."""


class IdentityConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Identity providers. A rehearsal emulates the providers whose URLs are not set."""

    id_token_algorithm: Literal["RS256", "ES256"] = "RS256"
    """The algorithm of the platform's ID tokens. Clients of the public platform expect RS256; ES256 needs far less CPU."""
    allow_any_issuer: bool = False
    """Whether OIDC issuers may have any URL, including http and single-label host names: for private networks."""
    steam_url: str | None = None
    """The URL where Steam tickets are verified; by default https://partner.steam-api.com."""
    steam_key: Annotated[str, Meta(min_length=1)] | None = None
    """The publisher key of the Steam web API."""
    epic_url: str | None = None
    """The URL of Epic Online Services; by default https://api.epicgames.dev."""
    unity_url: str | None = None
    """The URL of Unity player authentication; by default https://player-auth.services.api.unity.com."""
    apple_url: str | None = None
    """The URL of Apple sign-in; by default https://appleid.apple.com."""
    playstation_url: str | None = None
    """The URL of PlayStation Network; by default https://auth.account.sony.com."""


class ActivitiesConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The activity proxy, which serves each activity on its own host: `{application_id}.{proxy_host}`."""

    proxy_host: Annotated[str, Meta(pattern=_HOST_PATTERN)] | None = None
    """The domain under which activities are served on the server's port; None disables the proxy.

    It must not share cookies with the platform's own pages, and needs wildcard DNS and a wildcard certificate."""
    request_bytes_max: Bytes = 25 * MIB
    """The maximum size of a request body forwarded to an application's server."""
    response_bytes_max: Bytes = 512 * MIB
    """The maximum size of a response returned from an application's server."""
    timeout_ms: Milliseconds = 60_000
    """The maximum time until an application's server starts its response, and between parts of the response."""
    connections_max: Annotated[int, Meta(ge=1)] = 200
    """The maximum number of concurrent requests and WebSockets per application and process."""


ModeratedKeyword = Annotated[str, Meta(min_length=1, max_length=60)]


class AutoModerationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Keywords that the operator forbids, in rule syntax (`word`, `word*`, `*word*`).

    The first three lists extend the lists of KEYWORD_PRESET rules; `forbidden_in_names` applies to names."""

    profanity: tuple[ModeratedKeyword, ...] = ()
    """Keywords that are added to the preset for profanity."""
    sexual_content: tuple[ModeratedKeyword, ...] = ()
    """Keywords that are added to the preset for sexual content."""
    slurs: tuple[ModeratedKeyword, ...] = ()
    """Keywords that are added to the preset for slurs, which has only a few phrases of its own."""
    forbidden_in_names: tuple[ModeratedKeyword, ...] = ()
    """Keywords that must not occur in guild names and descriptions, channel names or stage topics."""


MAIL_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}
"""Default port of the SMTP server by `mail.security`."""


class MailConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Outgoing mail. It is enabled by `mail.host`, or in a rehearsal by `mail.keep_in_memory`."""

    host: Annotated[str, Meta(min_length=1)] | None = None
    """The host name of the SMTP server; None sends no mail."""
    port: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    """The port of the SMTP server; by default 587 with `starttls`, 465 with `tls`, 25 with `none`."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """The encryption of the connection: STARTTLS, TLS from the start, or none."""
    username: Annotated[str, Meta(min_length=1)] | None = None
    """The name for the login at the SMTP server; required with `mail.password`."""
    password: Annotated[str, Meta(min_length=1)] | None = None
    """The password for the login at the SMTP server; required with `mail.username`."""
    sender: str | None = None
    """The sender of every mail, such as `Example Chat <noreply@example.org>`; required with `mail.host`."""
    ca_file: str | None = None
    """The path of a PEM file with the certificate authority of the SMTP server, if the system does not trust it."""
    timeout_ms: Annotated[int, Meta(ge=1, le=60_000)] = 30_000
    """The timeout of the connection and of each SMTP command."""
    keep_in_memory: bool = False
    """Whether a rehearsal keeps mail in memory instead of sending it."""

    @property
    def is_enabled(self) -> bool:
        """Whether mail is sent, or kept in the mailbox of a rehearsal."""
        return self.host is not None or self.keep_in_memory

    @property
    def server_port(self) -> int:
        """The port of the SMTP server: `port`, or the default port of `security`."""
        return MAIL_PORTS[self.security] if self.port is None else self.port


class WebConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The default language of pages and mail, and the name and description of the server on its home page."""

    default_locale: Literal["de", "en", "es"] = "en"
    """The language of pages and mail for visitors and users whose languages the interface does not have."""
    server_name: Annotated[str, Meta(max_length=60)] | None = None
    """The name of this server on its home page; None shows the name of the software."""
    server_description: Annotated[str, Meta(max_length=300)] | None = None
    """One or two sentences about this server for visitors of its home page; None shows a general text."""


class StorageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Default quotas of uploaded files. Operators can set other values for single accounts and guilds."""

    account_bytes_max: Bytes | None = None
    """The maximum size of all files that one account uploaded; None for no limit."""
    guild_bytes_max: Bytes | None = None
    """The maximum size of all files in one guild; None for no limit."""


class ScanningConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Scanners that check uploads before they are stored. Every file must pass all of them."""

    hash_file: str | None = None
    """The path of a file with the SHA-256 of forbidden files, one per line; it is read again after a change."""
    clamd_url: str | None = None
    """The address of ClamAV's daemon: tcp://host:3310 or unix:///run/clamav/clamd.ctl."""
    scanner: str | None = None
    """Another scanner as `module:name`, an object or a class without arguments."""
    timeout_ms: Annotated[int, Meta(ge=1, le=60_000)] = 10_000
    """The maximum time of one scanner for one file."""
    when_unavailable: Literal["reject", "accept"] = "reject"
    """Whether uploads are rejected or accepted unchecked while a scanner does not respond."""


HostName = Annotated[str, Meta(pattern=_HOST_PATTERN)]
"""A host name in lower case, without a port."""


def _is_listed(host: str, domains: tuple[str, ...]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _is_allowed(host: str, allowed_hosts: tuple[str, ...], denied_hosts: tuple[str, ...]) -> bool:
    """Return whether two lists allow a host; an empty list of allowed hosts allows all, and a denied host overrides it."""
    return not _is_listed(host, denied_hosts) and (not allowed_hosts or _is_listed(host, allowed_hosts))


class ProtectionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Protection of the server against spam and raids. `hubbub serve` has another default for `raid_joins_max`."""

    new_account_minutes: Annotated[int, Meta(ge=0, le=43_200)] = 0
    """The age in minutes below which an account is new and limited; 0 turns the limits off."""
    new_account_joins_max: Annotated[int, Meta(ge=0)] = 10
    """The maximum number of guilds that a new account can join per hour; 0 for no limit."""
    allow_new_account_links: bool = False
    """Whether new accounts can send links."""
    allow_new_account_dms: bool = False
    """Whether new accounts can send direct messages to users who are not friends and did not write first."""
    raid_joins_max: Annotated[int, Meta(ge=0)] = 0
    """The number of joins of a guild in `raid_window_seconds` that pauses its invites; 0 turns it off. `hubbub serve`: 60."""
    raid_window_seconds: Annotated[int, Meta(ge=1, le=3600)] = 60
    """The period in which joins of a guild are counted."""
    raid_pause_minutes: Annotated[int, Meta(ge=1, le=1440)] = 60
    """The time for which invites are paused."""
    denied_link_hosts: tuple[HostName, ...] = ()
    """Host names to which messages cannot link, each with its subdomains."""
    allowed_link_hosts: tuple[HostName, ...] = ()
    """The only host names to which messages can link, each with its subdomains; empty for all."""
    link_rules_for: Literal["everyone", "new_accounts"] = "everyone"
    """Whose messages `denied_link_hosts` and `allowed_link_hosts` apply to: all users, bots and webhooks, or new accounts."""

    def is_link_host_allowed(self, host: str) -> bool:
        """Return whether messages may link to a host in lower case; a denied host overrides an allowed one."""
        return _is_allowed(host, self.allowed_link_hosts, self.denied_link_hosts)


class LinkPreviewsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Previews of links in messages, for which the server fetches the pages. `hubbub serve` turns them on."""

    enabled: bool = False
    """Whether the server fetches the links of messages. `hubbub serve`: true."""
    allowed_hosts: tuple[HostName, ...] = ()
    """The host names whose links have previews, each with its subdomains; empty for all."""
    denied_hosts: tuple[HostName, ...] = ()
    """Host names whose links have no previews, each with its subdomains."""

    def is_host_allowed(self, host: str) -> bool:
        """Return whether the server may fetch links to a host; a denied host overrides an allowed one."""
        return _is_allowed(host.lower().rstrip("."), self.allowed_hosts, self.denied_hosts)


class TelemetryConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Traces, which are sent to an OpenTelemetry collector. They need the packages of the extra hubbub[telemetry]."""

    endpoint: str | None = None
    """The URL of a collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318; None sends no traces."""
    headers: Annotated[str, Meta(min_length=1)] | None = None
    """Headers of every export, as `name=value` separated by commas, with percent-encoded values; usually a secret."""
    service_name: Annotated[str, Meta(min_length=1, max_length=200)] = "hubbub"
    """The name of this installation in traces."""
    sample_ratio: Annotated[float, Meta(ge=0.0, le=1.0)] = 1.0
    """The share of operations that are traced."""


RetentionDays = Annotated[int, Meta(ge=1, le=36_500)]
DAY_MS: Final = 24 * 3_600_000


class RetentionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The time for which records are kept. A daily job deletes older ones; None keeps them without a limit."""

    report_days: RetentionDays | None = None
    """The number of days after a decision for which reports and their evidence are kept."""
    decision_days: RetentionDays | None = None
    """The number of days for which decisions about accounts and their appeals are kept, except suspensions in force."""
    audit_days: RetentionDays | None = None
    """The number of days for which entries of the audit log of operators are kept."""
    address_days: RetentionDays | None = None
    """The number of days after a login for which its IP address and program name are kept."""

    @property
    def is_limited(self) -> bool:
        """Whether a setting limits the age of records."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


def compute_expiry_cutoff_ms(now_ms: int, days: int | None) -> int | None:
    """Return the time (Unix milliseconds) before which records expire, or None if they are kept without a limit."""
    return None if days is None else now_ms - days * DAY_MS


class PushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Web Push: notifications through the push services of browser vendors."""

    enabled: bool = True
    """Whether browsers can subscribe. If not, the server sends no push notifications."""
    contact: Annotated[str, Meta(pattern=r"^(mailto:[^@\s]+@[^@\s]+|https://\S+)$")] | None = None
    """The mailto: or https: URL at which push services can reach the operator; by default `public_url` if it is https."""


HOST_LIST_KEYS: Final = (
    "link_previews.allowed_hosts",
    "link_previews.denied_hosts",
    "protection.allowed_link_hosts",
    "protection.denied_link_hosts",
)
"""Settings that are lists of host names."""
