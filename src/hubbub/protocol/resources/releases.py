"""Releases of the SDK, as its users are told of them (sdk.md 17)."""

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Timestamp
from hubbub.protocol.operation import Auth, Operation

EVERYBODY = Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE


class Release(Struct, kw_only=True):
    """A release that came out."""

    version: str
    release_date_time: Timestamp


class Artifact(Struct, kw_only=True):
    """A file of a release."""

    download_url: str
    filename: str
    size_bytes: int


class ReleaseDetails(Release, kw_only=True):
    """A release with its files."""

    artifacts: list[Artifact]


class Releases(Struct, kw_only=True):
    """All that came out, the newest first."""

    releases: list[Release]
    latest_version: str | None


LIST_SOCIAL_SDK_RELEASES = Operation("GET", "/social-sdk/releases", result=Releases, auth=EVERYBODY)

GET_SOCIAL_SDK_RELEASE = Operation(
    "GET",
    "/social-sdk/releases/{version}",
    result=ReleaseDetails,
    auth=EVERYBODY,
    raises=(errors.UNKNOWN_BUILD,),
)
