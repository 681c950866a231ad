"""Value records besides those of rich presence: plain attributes, copied and compared by value (sdk.md 1.1)."""

from collections.abc import Callable
from inspect import get_annotations
from typing import Any, ClassVar, NamedTuple, dataclass_transform

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
    """What a record's field begins as, and whether the specification has accessors for it."""

    default: Any
    factory: Callable[[], Any] | None = None
    compat: bool = True


def field(*, default_factory: Callable[[], Any], compat: bool = True) -> Any:
    """A field that begins as something of its own."""
    return Field(None, default_factory, compat)


@dataclass_transform(field_specifiers=(field,))
class Fields:
    """Makes records of annotated attributes. Like dataclasses, but a class costs no compilation when it is imported."""

    fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        own = get_annotations(cls)
        begin = {name: getattr(cls, name) for name in own if name in cls.__dict__}
        cls.fields = cls.fields | {
            name: value if isinstance(value, Field) else Field(value) for name, value in begin.items()
        }
        for name in begin:
            # An invalid record has no fields, so their defaults must not be found on the class.
            delattr(cls, name)

    def __init__(self, *args: Any, **named: Any) -> None:
        if len(args) > len(self.fields):
            raise TypeError(f"{type(self).__name__} has {len(self.fields)} fields, not {len(args)}")
        named |= dict(zip(self.fields, args, strict=False))
        self._valid = True
        for name, (default, factory, _) in self.fields.items():
            setattr(self, name, named.pop(name) if name in named else factory() if factory else default)
        if named:
            raise TypeError(f"{type(self).__name__} has no {', '.join(named)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.fields == other.fields and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.__dict__.get(name)!r}" for name in self.fields if name not in SECRET)
        return f"{type(self).__name__}({shown if self.__dict__ else 'nullobj'})"


SECRET = frozenset({"verifier", "join"})
"""Fields that are not shown in texts."""


class Record(Fields, Copyable):
    """A value."""


class AuthorizationCodeChallenge(Record):
    """What the platform is shown of a verifier."""

    method: AuthenticationCodeChallengeMethod = AuthenticationCodeChallengeMethod.S256
    challenge: str = ""


class AuthorizationCodeVerifier(Record):
    """A secret of one authorization, and its challenge; made by `create_authorization_code_verifier`."""

    challenge: AuthorizationCodeChallenge = field(default_factory=AuthorizationCodeChallenge)
    verifier: str = ""


class AuthorizationArgs(Record):
    """What `authorize` is asked with."""

    client_id: int = 0
    """The game's application; 0 takes what `set_application_id` said."""
    scopes: str = ""
    """Separated by spaces; required."""
    state: str | None = None
    """Best left unset: a random one is made."""
    nonce: str | None = None
    """For backends that use ID tokens; never made up."""
    code_challenge: AuthorizationCodeChallenge | None = None
    """Needed for `get_token`."""
    integration_type: IntegrationType | None = None
    custom_scheme_param: str | None = None
    """The scheme word S of a redirect `S:/authorize/callback`."""


class DeviceAuthorizationArgs(Record):
    """What `get_token_from_device` is asked with."""

    client_id: int = 0
    scopes: str = ""


class ActivityInvite(Record):
    """An invitation to play, or somebody's wish for one."""

    sender_id: int = 0
    channel_id: int = 0
    """Where its message is."""
    message_id: int = 0
    type: ActivityActionTypes = ActivityActionTypes.INVALID
    application_id: int = 0
    """The game it is for; it may be a sibling of ours."""
    parent_application_id: int = 0
    """The publisher's application, or 0."""
    party_id: str = ""
    session_id: str = ""
    """The session of the sender that it is about."""
    is_valid: bool = False
    """False once it is six hours old or its sender left the activity."""


class GuildMinimal(Record):
    """A guild's id and name."""

    id: int = 0
    name: str = ""


class LinkedLobby(Record):
    """The lobby that a channel is linked to."""

    application_id: int = 0
    lobby_id: int = 0


class LinkedChannel(Record):
    """The channel that a lobby is linked to."""

    id: int = 0
    name: str = ""
    guild_id: int = 0


class GuildChannel(Record):
    """A channel of a guild, as one who links lobbies sees it."""

    id: int = 0
    name: str = ""
    type: ChannelType = ChannelType.GUILD_TEXT
    position: int = 0
    parent_id: int | None = None
    """Its category."""
    is_linkable: bool = False
    is_viewable_and_writeable_by_all_members: bool = False
    linked_lobby: LinkedLobby | None = None


class AdditionalContent(Record):
    """What a message has besides its text."""

    type: AdditionalContentType = AdditionalContentType.OTHER
    title: str | None = None
    """The name of a poll or thread."""
    count: int = 0

    def equals(self, other: "AdditionalContent") -> bool:
        """Whether both say the same."""
        return self == other

    @staticmethod
    def type_to_string(type: AdditionalContentType) -> str:
        """The name of a type."""
        return to_string(AdditionalContentType, type)


class AudioDevice(Record):
    """A microphone or loudspeaker."""

    id: str = ""
    name: str = ""
    is_default: bool = False

    def equals(self, other: "AudioDevice") -> bool:
        """Whether both are the same device."""
        return self.id == other.id


class UserMessageSummary(Record):
    """With whom there were messages, and which was the last."""

    user_id: int = 0
    last_message_id: int = 0


class ClientCreateOptions(Record):
    """How a client is made."""

    web_base: str = ""
    """Where browsers go; empty takes `http://127.0.0.1:8080`, where `hubbub dev` and `hubbub serve` listen."""
    api_base: str = ""
    """Where the API is; empty takes the one below `web_base`."""
    experimental_audio_system: AudioSystem = AudioSystem.STANDARD
    experimental_android_prevent_comms_for_bluetooth: bool = False
    cpu_affinity_mask: int | None = None
    voice_authority: str = field(default_factory=str, compat=False)
    """A PEM file that voice servers are known by, besides the machine's own: what `voice.authority` of the ready file names."""


class VADThresholdSettings(Fields, MoveOnly):
    """When a voice counts as one."""

    vad_threshold: float = -60.0
    """In dBFS, -100 to 0."""
    automatic: bool = True
