"""Releases of the SDK and their files (spec/sdk.md#17)."""

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Timestamp
from hubbub.protocol.operation import Auth, Operation

_ANY_CALLER = Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS


class Release(Struct, kw_only=True):
    """A published release of the SDK."""

    version: str
    """Version number of the release."""
    release_date_time: Timestamp
    """Time at which the release was published."""


class Artifact(Struct, kw_only=True):
    """A downloadable file of a release."""

    download_url: str
    """URL of the file."""
    filename: str
    """Name of the file."""
    size_bytes: int
    """Size of the file in bytes."""


class ReleaseDetails(Release, kw_only=True):
    """A release with its files."""

    artifacts: list[Artifact]
    """Files of the release."""


class Releases(Struct, kw_only=True):
    """All published releases, newest first."""

    releases: list[Release]
    """Releases, newest first."""
    latest_version: str | None
    """Version number of the newest release; null if there is none."""


LIST_SOCIAL_SDK_RELEASES = Operation("GET", "/social-sdk/releases", result=Releases, auth=_ANY_CALLER)

GET_SOCIAL_SDK_RELEASE = Operation(
    "GET",
    "/social-sdk/releases/{version}",
    result=ReleaseDetails,
    auth=_ANY_CALLER,
    raises=(errors.UNKNOWN_BUILD,),
)
