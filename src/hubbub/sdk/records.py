"""Base classes of value records, and all records except those of rich presence (spec/sdk.md#1.1).

A record has plain attributes and is copied and compared by value.
"""

from collections.abc import Callable
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, dataclass_transform

from hubbub.sdk.arguments import Int32, UInt8, check_argument
from hubbub.sdk.enums import (
    ActivityActionTypes,
    AdditionalContentType,
    AudioSystem,
    AuthenticationCodeChallengeMethod,
    ChannelType,
    IntegrationType,
    to_string,
)
from hubbub.sdk.objects import Copyable, MoveOnly


class Field(NamedTuple):
    """Default value of a record's field, and whether `hubbub.sdk.compat` has accessors for the field."""

    default: Any
    """Default value; ignored if `factory` is set."""
    factory: Callable[[], Any] | None = None
    """Function that creates the default value of each record, or None."""
    compat: bool = True
    """Whether `hubbub.sdk.compat` has accessors for the field."""
    annotation: Any = Any
    """Type of the field, which values are checked against."""

    def new_default(self) -> Any:
        """Return the default value of a new record."""
        return self.factory() if self.factory is not None else self.default


def field(*, default_factory: Callable[[], Any], compat: bool = True) -> Any:
    """Declare a field whose default is a new object for each record.

    With `compat` set to False, `hubbub.sdk.compat` has no accessors for the field."""
    return Field(None, default_factory, compat)


@dataclass_transform(field_specifiers=(field,))
class Fields:
    """Base class that turns annotated attributes into fields, like a dataclass but without compiling code at import."""

    fields: ClassVar[dict[str, Field]] = {}
    """Fields of the class by name, in the order of their declaration."""

    def __init_subclass__(cls) -> None:
        annotations = get_annotations(cls)
        defaults = {name: getattr(cls, name) for name in annotations if name in cls.__dict__}
        cls.fields = cls.fields | {
            name: (value if isinstance(value, Field) else Field(value))._replace(annotation=annotations[name])
            for name, value in defaults.items()
        }
        for name in defaults:
            # An invalid record has no fields, so lookups must not find the defaults on the class.
            delattr(cls, name)

    def __init__(self, *args: Any, **values: Any) -> None:
        if len(args) > len(self.fields):
            raise TypeError(f"{type(self).__name__} has {len(self.fields)} fields, but {len(args)} values were given")
        values |= dict(zip(self.fields, args, strict=False))
        self._valid = True
        for name, declared_field in self.fields.items():
            if name in values:
                setattr(self, name, values.pop(name))
            else:
                self.__dict__[name] = declared_field.new_default()
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(values)}")

    @classmethod
    def from_platform(cls, **values: Any) -> Self:
        """Create a record from values that the platform sent, without checking them as a game's arguments."""
        record = cls.__new__(cls)
        record.__dict__.update(
            _valid=True, **{name: declared_field.new_default() for name, declared_field in cls.fields.items()}
        )
        record.__dict__.update(values)
        return record

    if not TYPE_CHECKING:
        # Type checkers must not see this method: they would accept every attribute name.

        def __setattr__(self, name: str, value: Any) -> None:
            """Set a field; raise TypeError or ValueError if the value does not match the type of the field."""
            declared_field = self.fields.get(name)
            if declared_field is not None and self.__dict__:
                value = check_argument(self._argument_name(name), value, declared_field.annotation)
            super().__setattr__(name, value)

    @staticmethod
    def _argument_name(name: str) -> str:
        """Return the name of a field in error messages; `hubbub.sdk.compat` replaces this function."""
        return name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.fields == other.fields and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        field_texts = ", ".join(
            f"{name}={self.__dict__.get(name)!r}" for name in self.fields if name not in SECRET_FIELDS
        )
        return f"{type(self).__name__}({field_texts if self.__dict__ else 'nullobj'})"


SECRET_FIELDS = frozenset({"verifier", "join"})
"""Secret fields, which are left out of `repr`."""


class Record(Fields, Copyable):
    """A value: copied, moved and compared by its fields."""


class AuthorizationCodeChallenge(Record):
    """PKCE challenge of an authorization, derived from a verifier."""

    method: AuthenticationCodeChallengeMethod = AuthenticationCodeChallengeMethod.S256
    """Method of deriving the challenge from the verifier."""
    challenge: str = ""
    """The challenge, base64url-encoded."""


class AuthorizationCodeVerifier(Record):
    """PKCE verifier and challenge of one authorization; see `Client.create_authorization_code_verifier`."""

    challenge: AuthorizationCodeChallenge = field(default_factory=AuthorizationCodeChallenge)
    """The challenge to pass to `Client.authorize`."""
    verifier: str = ""
    """The secret to pass to `Client.get_token`."""


class AuthorizationArgs(Record):
    """Arguments of `Client.authorize`."""

    client_id: int = 0
    """ID of the game's application; 0 uses the one set by `set_application_id`."""
    scopes: str = ""
    """Requested OAuth2 scopes, separated by spaces; required."""
    state: str | None = None
    """OAuth2 state; leave it unset to use a random value."""
    nonce: str | None = None
    """Nonce of the ID token, for backends that verify one; never generated."""
    code_challenge: AuthorizationCodeChallenge | None = None
    """PKCE challenge; required if the code is exchanged with `get_token`."""
    integration_type: IntegrationType | None = None
    """Installation context of the application: a user or a guild; None leaves it to the platform."""
    custom_scheme_param: str | None = None
    """URL scheme of the redirect: with scheme S it is `S:/authorize/callback`.

    None uses a local HTTP server, or the scheme `hubbub-<client ID>` on mobile systems."""


class DeviceAuthorizationArgs(Record):
    """Arguments of `Client.get_token_from_device` and `Client.get_token_from_device_provisional_merge`."""

    client_id: int = 0
    """ID of the game's application; 0 uses the one set by `set_application_id`."""
    scopes: str = ""
    """Requested OAuth2 scopes, separated by spaces; required."""


class ActivityInvite(Record):
    """An invite to a game session, or a request to join one."""

    sender_id: int = 0
    """ID of the user who sent the invite."""
    channel_id: int = 0
    """ID of the channel with the invite's message."""
    message_id: int = 0
    """ID of the invite's message."""
    type: ActivityActionTypes = ActivityActionTypes.INVALID
    """Whether this is an invite or a request to join."""
    application_id: int = 0
    """ID of the game; it may be another application of the same publisher."""
    parent_application_id: int = 0
    """ID of the publisher's application; 0 if there is none."""
    party_id: str = ""
    """ID of the sender's party."""
    session_id: str = ""
    """ID of the sender's gateway session whose activity the invite is for."""
    is_valid: bool = False
    """Whether the invite can be accepted: False once it is six hours old or the sender left the activity."""


class GuildMinimal(Record):
    """ID and name of a guild."""

    id: int = 0
    """ID of the guild."""
    name: str = ""
    """Name of the guild."""


class LinkedLobby(Record):
    """The lobby that a channel is linked to."""

    application_id: int = 0
    """ID of the application that owns the lobby."""
    lobby_id: int = 0
    """ID of the lobby."""


class LinkedChannel(Record):
    """The channel that a lobby is linked to."""

    id: int = 0
    """ID of the channel."""
    name: str = ""
    """Name of the channel."""
    guild_id: int = 0
    """ID of the channel's guild."""


class GuildChannel(Record):
    """A guild channel that may be linked to a lobby."""

    id: int = 0
    """ID of the channel."""
    name: str = ""
    """Name of the channel."""
    type: ChannelType = ChannelType.GUILD_TEXT
    """Kind of channel."""
    position: Int32 = 0
    """Sort position of the channel."""
    parent_id: int | None = None
    """ID of the channel's category; None if it has none."""
    is_linkable: bool = False
    """Whether the current user may link the channel to a lobby."""
    is_viewable_and_writeable_by_all_members: bool = False
    """Whether every guild member can read and write in the channel; warn the player before linking a private channel."""
    linked_lobby: LinkedLobby | None = None
    """The lobby that the channel is already linked to, or None."""


class AdditionalContent(Record):
    """Content of a message that a game cannot render as text, such as a poll or attachments."""

    type: AdditionalContentType = AdditionalContentType.OTHER
    """Kind of content."""
    title: str | None = None
    """Question of a poll or name of a thread; None otherwise."""
    count: UInt8 = 0
    """Number of items, at most 255."""

    def equals(self, other: "AdditionalContent") -> bool:
        """Return whether all fields are equal."""
        return self == other

    @staticmethod
    def type_to_string(type: AdditionalContentType) -> str:
        """Return the specification's name of a content type."""
        return to_string(AdditionalContentType, type)


class AudioDevice(Record):
    """A microphone or speaker."""

    id: str = ""
    """Identifier of the device, for `set_input_device` and `set_output_device`."""
    name: str = ""
    """Name to display."""
    is_default: bool = False
    """Whether this is the system's default device."""

    def equals(self, other: "AudioDevice") -> bool:
        """Return whether both records name the same device; only `id` is compared."""
        return self.id == other.id


class UserMessageSummary(Record):
    """A direct message conversation of the current user."""

    user_id: int = 0
    """ID of the other user."""
    last_message_id: int = 0
    """ID of the newest message; 0 if there is none."""


class ClientCreateOptions(Record):
    """Options of a new `Client`."""

    web_base: str = ""
    """URL of the platform; empty uses the origin of `api_base` or, if that is empty as well, `http://127.0.0.1:8080`."""
    api_base: str = ""
    """URL of the HTTP API; empty derives it from `web_base`."""
    experimental_audio_system: AudioSystem = AudioSystem.STANDARD
    """Accepted for compatibility; it has no effect."""
    experimental_android_prevent_comms_for_bluetooth: bool = False
    """Accepted for compatibility; it has no effect."""
    cpu_affinity_mask: int | None = None
    """Accepted for compatibility; it has no effect."""
    debug_logging: bool = field(default_factory=lambda: True, compat=False)
    """Whether log callbacks and files that ask for Info or Verbose get them; set it to False in released games."""
    voice_authority: str = field(default_factory=str, compat=False)
    """PEM file with an extra certificate authority for voice servers, such as `voice.authority` of the ready file."""


class VADThresholdSettings(Fields, MoveOnly):
    """Voice activity detection settings of a call."""

    vad_threshold: float = -60.0
    """Level above which the microphone is transmitted, from -100 to 0 dBFS; ignored while `automatic` is set."""
    automatic: bool = True
    """Whether the threshold adapts to the background noise."""
