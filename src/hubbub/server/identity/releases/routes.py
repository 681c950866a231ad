"""HTTP handlers for SDK releases; a release is listed from its date on (spec/sdk.md#17)."""

from datetime import UTC, datetime
from typing import Final

from hubbub.protocol import errors, releases
from hubbub.protocol.codec import timestamp
from hubbub.protocol.resources import releases as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles

RELEASE_TIMES_MS: Final = {
    version: int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000
    for version, day in releases.RELEASES.items()
}
"""Release times in Unix milliseconds, by version."""


@handles(wire.LIST_SOCIAL_SDK_RELEASES)
def list_social_sdk_releases(call: Call) -> wire.Releases:
    """List SDK releases, newest first."""
    released_versions = [version for version, released_ms in RELEASE_TIMES_MS.items() if released_ms <= call.now_ms]
    return wire.Releases(
        releases=[
            wire.Release(version=version, release_date_time=timestamp(RELEASE_TIMES_MS[version]))
            for version in reversed(released_versions)
        ],
        latest_version=max(released_versions, key=releases.version_tuple, default=None),
    )


@handles(wire.GET_SOCIAL_SDK_RELEASE)
def get_social_sdk_release(call: Call, version: str) -> wire.ReleaseDetails:
    """Get an SDK release.

    `artifacts` is always empty: the SDK is installed as a Python package."""
    released_ms = RELEASE_TIMES_MS.get(version)
    if released_ms is None or released_ms > call.now_ms:
        raise errors.UNKNOWN_BUILD()
    return wire.ReleaseDetails(version=version, release_date_time=timestamp(released_ms), artifacts=[])
