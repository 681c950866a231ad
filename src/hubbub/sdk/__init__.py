"""Client library for games, bots and apps.

`Client` is the social layer for games. `Api` sends any operation of the HTTP API through one typed `call`, for bots and
backends. `hubbub.sdk.compat` offers the same classes under the specification's names.
"""

from hubbub.protocol.errors import ApiError
from hubbub.sdk.activities import (
    Activity,
    ActivityAssets,
    ActivityButton,
    ActivityParty,
    ActivitySecrets,
    ActivityTimestamps,
)
from hubbub.sdk.api import Api, File, TokenKind
from hubbub.sdk.audio import AudioBackend, MissingExtraError
from hubbub.sdk.authorization import Authorized
from hubbub.sdk.callback_queue import run_callbacks, set_free_threaded
from hubbub.sdk.calls import Call
from hubbub.sdk.client import Client, reset_callbacks
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import (
    ActivityActionTypes,
    ActivityGamePlatforms,
    ActivityPartyPrivacy,
    ActivityTypes,
    AdditionalContentType,
    AudioModeType,
    AudioSystem,
    AuthenticationCodeChallengeMethod,
    AuthenticationExternalAuthType,
    AuthorizationTokenType,
    AvatarType,
    CallError,
    CallStatus,
    ChannelType,
    ClientError,
    ClientStatus,
    ClientThread,
    DisclosureTypes,
    ErrorType,
    ExternalIdentityProviderType,
    HttpStatusCode,
    IntegrationType,
    LoggingSeverity,
    RelationshipGroupType,
    RelationshipType,
    StatusDisplayTypes,
    StatusType,
    to_string,
)
from hubbub.sdk.handles import (
    CallInfoHandle,
    ChannelHandle,
    LobbyHandle,
    LobbyMemberHandle,
    MessageHandle,
    RelationshipHandle,
    UserApplicationProfileHandle,
    UserHandle,
    VoiceStateHandle,
)
from hubbub.sdk.objects import InvalidObjectError
from hubbub.sdk.records import (
    ActivityInvite,
    AdditionalContent,
    AudioDevice,
    AuthorizationArgs,
    AuthorizationCodeChallenge,
    AuthorizationCodeVerifier,
    ClientCreateOptions,
    DeviceAuthorizationArgs,
    GuildChannel,
    GuildMinimal,
    LinkedChannel,
    LinkedLobby,
    UserMessageSummary,
    VADThresholdSettings,
)
from hubbub.sdk.results import ClientResult, SdkError
from hubbub.sdk.system_audio import SystemAudio
from hubbub.sdk.tokens import ChildToken, CurrentUser, TokenExchange
from hubbub.sdk.version import is_supported

UserApplicationProfile = UserApplicationProfileHandle
"""Alias of `UserApplicationProfileHandle`, under the name that the specification uses."""

__all__ = [
    "Activity",
    "ActivityActionTypes",
    "ActivityAssets",
    "ActivityButton",
    "ActivityGamePlatforms",
    "ActivityInvite",
    "ActivityParty",
    "ActivityPartyPrivacy",
    "ActivitySecrets",
    "ActivityTimestamps",
    "ActivityTypes",
    "AdditionalContent",
    "AdditionalContentType",
    "Api",
    "ApiError",
    "AudioBackend",
    "AudioDevice",
    "AudioModeType",
    "AudioSystem",
    "AuthenticationCodeChallengeMethod",
    "AuthenticationExternalAuthType",
    "AuthorizationArgs",
    "AuthorizationCodeChallenge",
    "AuthorizationCodeVerifier",
    "AuthorizationTokenType",
    "Authorized",
    "AvatarType",
    "Call",
    "CallError",
    "CallInfoHandle",
    "CallStatus",
    "ChannelHandle",
    "ChannelType",
    "ChildToken",
    "Client",
    "ClientCreateOptions",
    "ClientError",
    "ClientResult",
    "ClientStatus",
    "ClientThread",
    "Completion",
    "CurrentUser",
    "DeviceAuthorizationArgs",
    "DisclosureTypes",
    "ErrorType",
    "ExternalIdentityProviderType",
    "File",
    "GuildChannel",
    "GuildMinimal",
    "HttpStatusCode",
    "IntegrationType",
    "InvalidObjectError",
    "LinkedChannel",
    "LinkedLobby",
    "LobbyHandle",
    "LobbyMemberHandle",
    "LoggingSeverity",
    "MessageHandle",
    "MissingExtraError",
    "RelationshipGroupType",
    "RelationshipHandle",
    "RelationshipType",
    "SdkError",
    "StatusDisplayTypes",
    "StatusType",
    "SystemAudio",
    "TokenExchange",
    "TokenKind",
    "UserApplicationProfile",
    "UserApplicationProfileHandle",
    "UserHandle",
    "UserMessageSummary",
    "VADThresholdSettings",
    "VoiceStateHandle",
    "is_supported",
    "reset_callbacks",
    "run_callbacks",
    "set_free_threaded",
    "to_string",
]
