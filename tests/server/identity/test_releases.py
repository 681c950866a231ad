"""The list of SDK releases and their support window (spec/sdk.md#17)."""

import pytest

from hubbub.protocol.releases import RELEASES
from hubbub.sdk import Client, is_supported
from tests.world import World, parse_utc_ms


async def test_anyone_can_list_releases(world: World) -> None:
    for response in (
        await world.request("GET", "/social-sdk/releases"),
        await (await world.user()).get("/social-sdk/releases"),
    ):
        releases = response.ok()
        assert releases["latest_version"] == "1.10.18687"
        assert releases["releases"][0] == {
            "version": "1.10.18687",
            "release_date_time": "2026-08-13T00:00:00.000000+00:00",
        }
        assert [release["version"] for release in reversed(releases["releases"])] == list(RELEASES)

    # The version of this SDK is the latest release.
    version = (Client.get_version_major(), Client.get_version_minor(), Client.get_version_patch())
    assert releases["latest_version"] == ".".join(map(str, version))
    supported_versions = {
        ".".join(release["version"].split(".")[:2])
        for release in releases["releases"]
        if is_supported(release["version"], world.clock.now_ms())
    }
    assert supported_versions == {"1.6", "1.7", "1.8", "1.9", "1.10"}


@pytest.mark.parametrize(
    ("day", "supported_versions"),
    [
        ("2025-03-16", []),
        ("2025-03-17", ["1.0"]),
        ("2025-06-26", ["1.0", "1.1", "1.2", "1.3", "1.4"]),
        ("2026-07-27", ["1.5", "1.6", "1.7", "1.8", "1.9"]),
        ("2026-07-28", ["1.6", "1.7", "1.8", "1.9", "1.10"]),
    ],
)
def test_the_support_window_follows_the_clock(day: str, supported_versions: list[str]) -> None:
    minors = [f"1.{minor}" for minor in range(12)]

    assert [version for version in minors if is_supported(version, parse_utc_ms(day))] == supported_versions


def test_the_support_window_is_that_of_today_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.sdk.version.read_machine_ms", lambda: parse_utc_ms("2025-03-17"))

    assert [version for version in ("1.0", "1.1", "1.10") if is_supported(version)] == ["1.0"]


async def test_a_release_is_found_by_version(world: World) -> None:
    path = "/social-sdk/releases"
    assert (await world.request("GET", f"{path}/1.8.18335")).ok() == {
        "version": "1.8.18335",
        "release_date_time": "2026-08-11T00:00:00.000000+00:00",
        "artifacts": [],
    }

    for unknown_version in ("1.8.1", "2.0", "latest"):
        (await world.request("GET", f"{path}/{unknown_version}")).rejected(404, 10030)


async def test_a_release_is_listed_from_its_date_on(world: World) -> None:
    now_ms, path = world.clock.now_ms(), "/social-sdk/releases"

    world.clock.set(parse_utc_ms("2026-08-11") - 1)
    assert (await world.request("GET", path)).ok()["latest_version"] == "1.10.18247"
    (await world.request("GET", f"{path}/1.9.18337")).rejected(404, 10030)
    world.clock.set(parse_utc_ms("2026-08-11"))
    assert (await world.request("GET", path)).ok()["latest_version"] == "1.10.18369"
    (await world.request("GET", f"{path}/1.9.18337")).ok()
    # A later release of an older minor version is not the latest.
    world.clock.set(parse_utc_ms("2025-10-16"))
    releases = (await world.request("GET", path)).ok()
    assert (releases["releases"][0]["version"], releases["latest_version"]) == ("1.5.12211", "1.6.12170")
    world.clock.set(parse_utc_ms("2025-03-17") - 1)
    assert (await world.request("GET", path)).ok() == {"releases": [], "latest_version": None}
    world.clock.set(now_ms)
