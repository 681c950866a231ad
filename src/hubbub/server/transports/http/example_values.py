"""Examples of protocol types as JSON values, for the OpenAPI document and the API reference.

An example is built from the type and the names of its fields, so it is the same in every process and follows a change of
a model. A test decodes every example with its type.
"""

import re
import types
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple, NewType, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from hubbub.protocol.ids import EPOCH_MS, Snowflake, Timestamp, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.sounds import SoundData
from hubbub.server.transports.docstrings import attribute_docstrings, markdown

DEPTH_MAX: Final = 4
"""Maximum nesting of objects. Lists of deeper objects are empty; nullable objects are null two levels earlier."""

OPTIONAL_FIELDS_MAX: Final = (6, 2)
"""Number of optional fields that an object contains, by depth; deeper objects contain none."""

_NOW_MS: Final = 1_773_501_566_535
_EARLIER: Final = "2026-02-03T09:30:00.000000+00:00"
_NOW: Final = "2026-03-14T15:19:26.535000+00:00"
_LATER: Final = "2026-04-18T19:00:00.000000+00:00"
_MONTH_MS: Final = 30 * 86_400_000
_HASH: Final = "5f2b1c0d9e8a47b6a3d4c5e6f7089a1b"
_TOKEN: Final = "k3Jq9vT2mX8bLw5RzN7cYd4HsP6gFa1U"
_PNG: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
_OGG: Final = "data:audio/ogg;base64,T2dnUwACAAAAAAAAAAA="

_MODEL_VALUES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("ActivityLocation", "id", "gc-1479709962333586041"),
    ("Application", "name", "Demo Bot"),
    ("Application", "description", "Runs the weekly tournament."),
    ("Approval", "name", "GUILD_MEMBERS"),
    ("Approval", "description", "Receive events about guild members."),
    ("Approval", "reason", "The bot welcomes new members."),
    ("Asset", "name", "cover"),
    ("Attachment", "title", "Harbor"),
    ("Attachment", "description", "The harbor at sunrise."),
    ("Attachment", "url", "https://example.com/attachments/harbor.png"),
    ("Attachment", "proxy_url", "https://example.com/attachments/harbor.png"),
    ("AuditLogEntry", "action_type", 10),
    ("AutoModeration", "name", "Block spam words"),
    ("Action", "type", 1),
    ("Channel", "name", "general"),
    ("Channel", "topic", "Talk about anything."),
    ("Choice", "name", "Red"),
    ("Choice", "value", "red"),
    ("Command", "name", "greet"),
    ("Command", "description", "Greets a member."),
    ("Command", "type", 1),
    ("Component", "label", "Join"),
    ("Connection", "id", "4821"),
    ("Connection", "name", "alice"),
    ("Connection", "type", "github"),
    ("DeleteApplication", "code", "482913"),
    ("EmbedAuthor", "name", "Alice"),
    ("EmbedField", "name", "Players"),
    ("EmbedField", "value", "12 of 16"),
    ("Emoji", "name", "wave"),
    ("Event", "name", "Spring tournament"),
    ("Event", "description", "Eight teams, three rounds."),
    ("Failed", "error", "The endpoint responded with status 500."),
    ("FailedWebhookEvent", "attempts", 3),
    ("FormField", "label", "Read and agree to the guild rules"),
    ("Gateway", "url", "wss://hubbub.example/gateway"),
    ("Guild", "name", "Town Square"),
    ("Guild", "description", "A place to meet and play."),
    ("Integration", "name", "Demo Bot"),
    ("IntegrationAccount", "id", "1480655549040165946"),
    ("Interaction", "type", 2),
    ("Invite", "code", "hTs5GqWd"),
    ("Link", "title", "Join the tournament"),
    ("Link", "description", "Eight teams, three rounds."),
    ("Lobby", "name", "Ranked match"),
    ("LoginWithCode", "code", "482913"),
    ("NewMemberAction", "title", "Introduce yourself"),
    ("OnboardingOption", "title", "Strategy games"),
    ("OnboardingPrompt", "title", "What do you play?"),
    ("Option", "name", "color"),
    ("Option", "description", "The color of the card."),
    ("Option", "type", 3),
    ("PrivateChannel", "type", 1),
    ("ProviderClient", "id", "town-square-login"),
    ("ProviderConfiguration", "type", "OIDC"),
    ("Region", "id", "local"),
    ("Region", "name", "Local"),
    ("Role", "name", "Players"),
    ("RoleConnectionMetadata", "name", "Level"),
    ("RoleConnectionMetadata", "description", "Level of the player."),
    ("RoleConnectionRequirement", "value", "10"),
    ("Rule", "name", "Block spam words"),
    ("ScopeDescription", "name", "identify"),
    ("ScopeDescription", "description", "See your username, avatar and banner"),
    ("Sku", "name", "Season pass"),
    ("Sku", "description", "All rewards of the season."),
    ("Sound", "name", "fanfare"),
    ("StageInstance", "topic", "Questions and answers"),
    ("Sticker", "name", "hello"),
    ("Sticker", "description", "A waving robot."),
    ("Tag", "name", "Question"),
    ("Team", "name", "Town Builders"),
    ("Template", "name", "Game community"),
    ("Template", "description", "Channels and roles for a game community."),
    ("Thread", "name", "Patch notes"),
    ("Thread", "type", 11),
    ("Totp", "code", "482913"),
    ("VanityUrl", "code", "town-square"),
    ("Webhook", "name", "News"),
    ("WelcomeScreen", "description", "Welcome to Town Square!"),
    ("WelcomeScreenChannel", "description", "Read the rules"),
    ("WidgetMember", "id", "1"),
    ("WidgetMember", "status", "online"),
)
"""Values of fields whose meaning depends on the model: part of the model's name, field, value."""

_STRINGS: Final[Mapping[str, str]] = {
    "access_token": _TOKEN,
    "access_tokens": _TOKEN,
    "action": "opened",
    "alg": "RS256",
    "allow_list": "town",
    "asset_path": "images/cover.png",
    "attachment_extension": "png",
    "author_name": "Alice",
    "avatar": _HASH,
    "avatar_hash": _HASH,
    "backup_codes": "4k7d-92mx",
    "badge": _HASH,
    "banner": _HASH,
    "bio": "Building things in Town Square.",
    "body": "The build passes again.",
    "burst_colors": "#3498db",
    "choices": "Yes",
    "client_id": "1480655549040165946",
    "client_secret": "w8Zr4QmB1yKf6TnX3pHs9VdJ2cLg7AaE",
    "code": "hTs5GqWd",
    "compare": "https://example.com/town-square/compare",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "color": "good",
    "colors": "3498db",
    "conclusion": "success",
    "connection_metadata_field": "level",
    "content": "Hello, everyone!",
    "content_type": "image/png",
    "country": "US",
    "cover_image": _HASH,
    "crv": "P-256",
    "currency": "usd",
    "custom_id": "join_tournament",
    "custom_message": "This word is not allowed here.",
    "default": "Greets a member.",
    "default_tag_setting": "match_some",
    "description": "A short description.",
    "description_localized": "Salue un membre.",
    "device_code": "9wR2vLk7TqXs4MzYb8NcHdJf",
    "discovery_splash": _HASH,
    "discriminator": "0",
    "e": "AQAB",
    "eligible_oauth2_scopes": "identify",
    "email": "alice@example.com",
    "embed_provider": "Example",
    "emoji_name": "👋",
    "environment": "production",
    "error": "invalid_grant",
    "error_description": "The code has expired.",
    "error_message": "Some users do not exist.",
    "event_webhooks_types": "APPLICATION_AUTHORIZED",
    "external_user_id": "player-4821",
    "features": "COMMUNITY",
    "file_types": "image/png",
    "filename": "harbor.png",
    "flags_new": "0",
    "footer": "Sent by the build server",
    "full_name": "alice/town-square",
    "global_name": "Alice",
    "grant_type": "authorization_code",
    "head_branch": "main",
    "home_header": _HASH,
    "icon": _HASH,
    "image": _HASH,
    "instant_invite": "https://example.com/invite/hTs5GqWd",
    "instance_id": "i-1456020941733593088-gc-1456012345678901248",
    "ip": "203.0.113.7",
    "keyword_filter": "spam*",
    "key": "level",
    "kid": "2026-01",
    "kind": "gc",
    "kty": "RSA",
    "label": "Join",
    "latest_version": "1.4.0",
    "link_hostname": "example.com",
    "locale": "en-US",
    "location": "Main square",
    "login": "alice",
    "message": "Hello, everyone!",
    "metadata": "ranked",
    "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECP",
    "name": "Town Square",
    "name_localized": "saluer",
    "new_password": "seven quiet lanterns by the lake",
    "nick": "Alice of the Square",
    "nickname": "Alice",
    "nonce": "1456020941733593088",
    "original": "https://example.com/attachments/harbor.png",
    "password": "correct horse battery staple",
    "payload": '{"text": "Hello, everyone!"}',
    "permissions": "*",
    "placeholder": "Choose a color",
    "platform_name": "Town Square Online",
    "platform_username": "alice",
    "preferred_locale": "en-US",
    "pretext": "New build",
    "prefix": "/api",
    "provider_id": "1456020941733593088",
    "provider_issued_user_id": "player-4821",
    "query": "alice",
    "reason": "Spam in several channels.",
    "ref": "refs/heads/main",
    "ref_type": "branch",
    "refreshed": "https://example.com/attachments/harbor.png",
    "refresh_token": "b7Hd2WqT9xNf4KsZ1mYc6VrJ8pLg3EaU",
    "regex_patterns": "fr[e3]{2} coins",
    "region": "local",
    "rejection_reason": "Please answer every question.",
    "response_type": "code",
    "role": "admin",
    "rtc_region": "local",
    "scope": "identify guilds",
    "scopes": "identify",
    "secret": "w8Zr4QmB1yKf6TnX3pHs9VdJ2cLg7AaE",
    "session_id": "9c0b7f4e2d1a4c6f8e3b5a7d6c9f0e1b",
    "slug": "town-square-online",
    "splash": _HASH,
    "state": "4f1d8c72",
    "status": "Playing cards",
    "sub": "1456020941733593088",
    "summary": "All tests pass.",
    "tag": "TOWN",
    "tag_name": "v1.4.0",
    "tags": "wave",
    "target": "activity.example.com",
    "text": "Alice joined the match.",
    "thread_name": "Patch notes",
    "ticket": _TOKEN,
    "tier_name": "Supporter",
    "title": "Patch notes",
    "token": _TOKEN,
    "token_type": "Bearer",
    "token_type_hint": "access_token",
    "topic": "Talk about anything.",
    "type": "rich",
    "unicode_emoji": "👋",
    "use": "sig",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    "user_code": "BCDF-GHJK",
    "username": "alice",
    "value": "red",
    "values": "red",
    "vanity_url_code": "town-square",
    "verify_key": f"{_HASH}{_HASH[::-1]}",
    "version": "1.4.0",
    "waveform": "AAwgQFBAMCAQBA==",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
_STRING_SUFFIXES: Final = (
    ("_hash", _HASH),
    ("icon_url", "https://example.com/icon.png"),
    ("image_url", "https://example.com/image.png"),
    ("redirect_uris", "https://example.com/callback"),
    ("redirect_uri", "https://example.com/callback"),
    ("rpc_origins", "https://example.com"),
    ("_urls", "https://example.com/files/harbor.png"),
    ("url", "https://example.com/town-square"),
    ("uri", "https://example.com/town-square"),
    ("_uri_complete", "https://example.com/activate?user_code=BCDF-GHJK"),
    ("link", "https://example.com/town-square"),
    ("picture", "https://example.com/avatar.png"),
    ("_token", _TOKEN),
    ("_secret", "w8Zr4QmB1yKf6TnX3pHs9VdJ2cLg7AaE"),
    ("_sha", "7c3e1f0a9b8d6c5e4f3a2b1c0d9e8f7a6b5c4d3e"),
    ("commit_id", "7c3e1f0a9b8d6c5e4f3a2b1c0d9e8f7a6b5c4d3e"),
    ("_code", "hTs5GqWd"),
    ("_localizations", "Saluer"),
    ("username", "alice"),
    ("_name", "Alice"),
    ("_id", "1456020941733593088"),
)
_FALLBACK_STRINGS: Final = ("example", "1")

_MAP_KEYS: Final[Mapping[str, str]] = {
    "name_localizations": "fr",
    "description_localizations": "fr",
    "localizations": "fr",
    "metadata": "mode",
    "lobby_metadata": "mode",
    "member_metadata": "team",
    "moderation_metadata": "result",
    "integration_types_config": "0",
    "authorizing_integration_owners": "0",
    "records": "level",
}

_INTEGERS: Final[Mapping[str, int]] = {
    "": 12,
    "accent_color": 0x3498DB,
    "afk_timeout": 300,
    "approximate_guild_count": 42,
    "approximate_member_count": 128,
    "approximate_presence_count": 37,
    "approximate_user_install_count": 310,
    "auto_archive_duration": 1440,
    "bitrate": 64_000,
    "color": 0x3498DB,
    "count": 3,
    "days": 7,
    "default_auto_archive_duration": 1440,
    "delete_message_days": 1,
    "delete_message_seconds": 3600,
    "duration_seconds": 60,
    "expires_in": 604_800,
    "free_below": 13,
    "gradient_angle": 45,
    "height": 600,
    "idle_timeout_seconds": 300,
    "interval": 1,
    "limit": 50,
    "max_age": 86_400,
    "max_concurrency": 1,
    "max_members": 500_000,
    "max_participants": 8,
    "max_uses": 10,
    "max_video_channel_users": 25,
    "max_stage_video_channel_users": 50,
    "member_count": 128,
    "message_count": 12,
    "number": 17,
    "position": 1,
    "presence_count": 37,
    "price": 499,
    "primary_color": 0x3498DB,
    "processed_users": 2,
    "pruned": 3,
    "remaining": 998,
    "reset_after": 14_400_000,
    "secondary_color": 0x9B59B6,
    "shards": 1,
    "size": 48_213,
    "size_bytes": 48_213,
    "theme_color": 0x3498DB,
    "total": 1000,
    "total_message_sent": 14,
    "total_results": 1,
    "total_users": 2,
    "usage_count": 4,
    "user_count": 12,
    "user_limit": 10,
    "uses": 3,
    "width": 800,
}
_FLOATS: Final[Mapping[str, float]] = {"volume": 1.0, "duration_secs": 2.4, "duration": 2.4, "value": 1.5}
_TRUE_FIELDS: Final = frozenset(
    {
        "authorize",
        "available",
        "bot_public",
        "enabled",
        "has_more",
        "hoist",
        "identity_enabled",
        "mentionable",
        "online",
        "permission",
        "published",
        "show_activity",
        "validated",
        "verified",
    }
)
_NULL_FIELDS: Final = frozenset(
    {"canceled_at", "communication_disabled_until", "edited_timestamp", "premium_since", "request_to_speak_timestamp"}
)
"""Nullable fields that are null in most responses."""

_OMITTED_FIELDS: Final = frozenset(
    {"access_tokens", "application_id", "enforce_nonce", "flags", "nonce", "payload", "position", "webhook_id"}
)
"""Optional fields that most messages and requests do not contain."""

_LISTED_NUMBER: Final = re.compile(r"(?:: |always )(\d+)\b", re.IGNORECASE)
"""The first of the values that a docstring lists: "Type of the webhook: 1 incoming, 2 channel follower"."""
_LISTED_STRING: Final = re.compile(r"(?:: |always |such as |for example )`([^`]+)`", re.IGNORECASE)

_UNIONS: Final = (Union, types.UnionType)
_ARRAYS: Final = (list, tuple, set, frozenset, Sequence)
_MAPPINGS: Final = (dict, Mapping)


def example(kind: Any, *, in_request: bool = False) -> Any:
    """Return an example of a type as built-in JSON values.

    A response contains every field that cannot be absent. A request contains the required fields and some others.
    """
    return _Builder(in_request).build(kind, _FieldContext(), Meta(), ())


class _FieldContext(NamedTuple):
    """The field that contains a value, and the value's position if the field is a list."""

    name: str = ""
    """Name of the field on the wire."""
    note: str = ""
    """Docstring of the field as Markdown."""
    model: str = ""
    """Name of the model that has the field."""
    position: int = 0


class _Builder:
    """Builds the example of one request or response."""

    def __init__(self, in_request: bool) -> None:
        self._in_request = in_request

    def build(self, kind: Any, context: _FieldContext, meta: Meta, parents: tuple[type, ...]) -> Any:
        """Return the example of a type; `parents` are the models around it."""
        origin = get_origin(kind)
        if origin is Annotated:
            base, *extras = get_args(kind)
            meta = next((extra for extra in extras if isinstance(extra, Meta)), meta)
            return self.build(base, context, meta, parents)
        if origin in _UNIONS:
            return self._union_example(get_args(kind), context, meta, parents)
        if origin is Literal:
            return get_args(kind)[0]
        if kind in _ARRAYS or origin in _ARRAYS:
            return self._array_example(get_args(kind), context, meta, parents)
        if kind in _MAPPINGS or origin in _MAPPINGS:
            return self._mapping_example(get_args(kind), context, meta, parents)
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self._model_example(kind, parents)
        return _scalar_example(kind, context, meta)

    def _model_example(self, kind: type[Struct], parents: tuple[type, ...]) -> dict[str, Any]:
        """Return the example of a model: its required fields and a few optional ones."""
        depth = len(parents)
        field_parents = (*parents, kind)
        config = kind.__struct_config__
        values: dict[str, Any] = {} if config.tag is None else {str(config.tag_field): config.tag}
        optional_max = OPTIONAL_FIELDS_MAX[depth] if depth < len(OPTIONAL_FIELDS_MAX) else 0
        fields, notes = _struct_fields(kind), _field_notes(kind)
        included = {field.name for field in fields if self._is_present(field)}
        optional = [
            field.name
            for field in fields
            if field.name not in included and _is_informative(field, notes.get(field.name, ""))
        ]
        included.update(optional[:optional_max])
        if not included and depth < DEPTH_MAX:
            included.update(field.name for field in fields[:1] if not _is_recursive(field.type, field_parents))
        for field in fields:
            if field.name in included:
                context = _FieldContext(field.encode_name, notes.get(field.name, ""), kind.__name__)
                values[field.encode_name] = self._field_example(field, context, field_parents)
        return values

    def _is_present(self, field: msgspec.structs.FieldInfo) -> bool:
        """Return whether an example must contain the field."""
        may_be_absent = field.default is UNSET or UnsetType in get_args(field.type)
        return field.required or not (self._in_request or may_be_absent)

    def _field_example(
        self, field: msgspec.structs.FieldInfo, context: _FieldContext, parents: tuple[type, ...]
    ) -> Any:
        default, note = field.default, context.note.lower()
        if "always null" in note:
            return None
        if isinstance(default, Enum):
            return default.value
        has_constant = isinstance(default, str | int | float) and not isinstance(default, WideInt)
        if has_constant and (default != "" or note.startswith("deprecated")):
            return default
        return self.build(field.type, context, Meta(), parents)

    def _union_example(
        self, parts: tuple[Any, ...], context: _FieldContext, meta: Meta, parents: tuple[type, ...]
    ) -> Any:
        """Return null, or the example of the preferred member of a union."""
        members = [part for part in parts if part not in (UnsetType, type(None))]
        is_null = context.name in _NULL_FIELDS or not members or self._is_too_deep(members[0], parents, margin=2)
        if type(None) in parts and is_null:
            return None
        members.sort(key=lambda part: (_is_recursive(part, parents), _preference(part)))
        return self.build(members[0], context, meta, parents)

    def _is_too_deep(self, kind: Any, parents: tuple[type, ...], margin: int = 0) -> bool:
        """Return whether a type is omitted because it is nested too deeply or contains itself."""
        return not _is_simple(kind) and (len(parents) >= DEPTH_MAX - margin or _is_recursive(kind, parents))

    def _array_example(
        self, arguments: tuple[Any, ...], context: _FieldContext, meta: Meta, parents: tuple[type, ...]
    ) -> list[Any]:
        item_type = arguments[0] if arguments else Any
        is_open = item_type is Any or item_type == dict[str, Any] or "always empty" in context.note.lower()
        min_length = meta.min_length or 0
        if not min_length and (is_open or self._is_too_deep(item_type, parents)):
            return []
        return [
            self.build(item_type, context._replace(position=number), Meta(), parents)
            for number in range(max(1, min_length))
        ]

    def _mapping_example(
        self, arguments: tuple[Any, ...], context: _FieldContext, meta: Meta, parents: tuple[type, ...]
    ) -> dict[str, Any]:
        key_type, value_type = arguments or (str, Any)
        if not meta.min_length and (value_type is Any or self._is_too_deep(value_type, parents)):
            return {}
        key_text = _MAP_KEYS.get(context.name) if key_type is str else None
        return {
            key_text or str(self.build(key_type, context, Meta(), parents)): self.build(
                value_type, context, Meta(), parents
            )
        }


@cache
def _struct_fields(kind: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


@cache
def _field_notes(kind: type[Struct]) -> dict[str, str]:
    return {name: markdown(spans) for name, spans in attribute_docstrings(kind).items()}


def _is_informative(field: msgspec.structs.FieldInfo, note: str) -> bool:
    """Return whether an optional field belongs in an example: a short value that is not its default."""
    if field.default is not UNSET or field.name in _OMITTED_FIELDS or note.startswith("Deprecated"):
        return False
    parts = [part for part in get_args(field.type) if isinstance(part, type)]
    return _is_simple(field.type) and not any(issubclass(part, ImageData | SoundData) for part in parts)


@cache
def _is_simple(kind: Any) -> bool:
    """Return whether a type contains neither objects nor values of unknown type."""
    origin = get_origin(kind)
    if origin is Literal:
        return True
    if origin is Annotated:
        return _is_simple(get_args(kind)[0])
    if origin in _UNIONS or origin in _ARRAYS:
        return all(_is_simple(part) for part in get_args(kind))
    if origin is not None or kind in (Any, Raw, dict, list):
        return False
    return not (isinstance(kind, type) and issubclass(kind, Struct))


def _is_recursive(kind: Any, parents: tuple[type, ...]) -> bool:
    """Return whether a type mentions one of the models around it."""
    if get_origin(kind) is Literal:
        return False
    return kind in parents or any(_is_recursive(part, parents) for part in get_args(kind) if not isinstance(part, Meta))


def _preference(kind: Any) -> int:
    """Return the rank of a member of a union; the lowest is shown."""
    base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    ranks = {str: 1, int: 2, float: 3, bool: 4}
    return ranks.get(base, 0) if isinstance(base, type) else 0


def _scalar_example(kind: Any, context: _FieldContext, meta: Meta) -> Any:
    name = context.name
    if kind is type(None):
        return None
    if kind is datetime or kind is Timestamp:
        return _timestamp_example(name)
    if isinstance(kind, NewType):
        kind = kind.__supertype__
    if not isinstance(kind, type) or kind in (Raw, object):
        return _any_value(name)
    if issubclass(kind, Enum):
        return next(iter(kind)).value
    if issubclass(kind, WideInt):
        return _wide_integer(kind, context)
    if issubclass(kind, ImageData):
        return _PNG
    if issubclass(kind, SoundData):
        return _OGG
    if kind is bool:
        return name in _TRUE_FIELDS
    if kind is int:
        return _clamp(_integer_example(context), meta, 1)
    if kind is float:
        return _clamp(_FLOATS.get(name, 1.0), meta, 0.5)
    if kind is str:
        return _string_example(context, meta)
    return _any_value(name)


def _timestamp_example(name: str) -> str:
    if any(part in name for part in ("end", "until", "expir", "lapses")):
        return _LATER
    return _EARLIER if any(part in name for part in ("joined", "create", "since", "start")) else _NOW


def _any_value(name: str) -> Any:
    """Return the example of a field that accepts any JSON value."""
    return {"nonce": "1456020941733593088", "new_value": "general", "old_value": "lounge"}.get(name, {})


def _wide_integer(kind: type[WideInt], context: _FieldContext) -> str:
    if issubclass(kind, Permissions):
        return "0" if context.name == "deny" else "2048"
    if not issubclass(kind, Snowflake):
        return str(1 + context.position)
    # Every type of ID has its own value, so that `id` of a user and `user_id` elsewhere agree.
    is_other = kind is Snowflake or context.name.startswith(("parent_", "child_"))
    seed = zlib.crc32((context.name if is_other else kind.__name__).encode()) + context.position
    created_ms = _NOW_MS - seed % _MONTH_MS
    return str((created_ms - EPOCH_MS) << 22 | seed % 4096)


def _integer_example(context: _FieldContext) -> int:
    """Return the value for the model, for the field's name, or the first number in the docstring; else 0."""
    values = [value for value in _model_values(context) if isinstance(value, int)]
    if values or context.name in _INTEGERS:
        return values[0] if values else _INTEGERS[context.name]
    match = _LISTED_NUMBER.search(context.note)
    return int(match[1]) if match else 0


def _clamp(value: Any, meta: Meta, step: Any) -> Any:
    """Return the number within the limits of `meta` that is nearest; `step` is the distance from an exclusive limit."""
    if meta.gt is not None:
        value = max(value, meta.gt + step)
    if meta.ge is not None:
        value = max(value, meta.ge)
    if meta.lt is not None:
        value = min(value, meta.lt - step)
    if meta.le is not None:
        value = min(value, meta.le)
    if meta.multiple_of is not None:
        value -= value % meta.multiple_of
    return value


def _string_example(context: _FieldContext, meta: Meta) -> str:
    if "always empty" in context.note.lower():
        return ""
    for value in _string_candidates(context):
        text = value[: meta.max_length]
        if len(text) >= (meta.min_length or 0) and (meta.pattern is None or re.search(meta.pattern, text)):
            return text
    # A pattern that no candidate matches; a test finds it if the model is part of this package.
    return "example".ljust(meta.min_length or 0, "x")[: meta.max_length]


def _string_candidates(context: _FieldContext) -> Iterator[str]:
    """Yield possible values of a string field, the most specific first."""
    name = context.name
    yield from (value for value in _model_values(context) if isinstance(value, str))
    if name not in _STRINGS and (match := _LISTED_STRING.search(context.note)):
        yield match[1]
    if name in _STRINGS:
        yield _STRINGS[name]
    if name.endswith(("_at", "timestamp", "_time", "_until", "_since", "since", "expires", "expiry")):
        yield _timestamp_example(name)
    yield from (value for suffix, value in _STRING_SUFFIXES if name.endswith(suffix))
    yield from _FALLBACK_STRINGS


def _model_values(context: _FieldContext) -> list[Any]:
    """Return the values for a field of a model; the longest match of the model's name first, at its end if possible."""
    matches = [(part, value) for part, field, value in _MODEL_VALUES if field == context.name and part in context.model]
    matches.sort(key=lambda match: (not context.model.endswith(match[0]), -len(match[0])))
    return [value for _, value in matches]
