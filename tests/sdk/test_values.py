"""Value objects: copies, moves, limits and wire format; and the version of the SDK."""

import copy
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hubbub
import hubbub.sdk as sdk
from hubbub.sdk import activities, compat, resources, version
from hubbub.sdk.tolerant_models import decode
from tests.world import NOW_MS


def full_activity() -> sdk.Activity:
    """Return an activity with every field set."""
    activity = sdk.Activity(
        name="Puddle",
        type=sdk.ActivityTypes.WATCHING,
        status_display_type=sdk.StatusDisplayTypes.DETAILS,
        state="In a puddle",
        state_url="https://puddle.example/s",
        details="Jumping",
        details_url="https://puddle.example/d",
        assets=sdk.ActivityAssets(large_image="pond", large_text="A pond", invite_cover_image="cover"),
        timestamps=sdk.ActivityTimestamps(start=1_700_000_000, end=1_700_000_100_000),
        party=sdk.ActivityParty(id="party-1", current_size=1, max_size=4, privacy=sdk.ActivityPartyPrivacy.PUBLIC),
        secrets=sdk.ActivitySecrets(join="let-me-in"),
        supported_platforms=sdk.ActivityGamePlatforms.DESKTOP | sdk.ActivityGamePlatforms.PS5,
    )
    activity.add_button(sdk.ActivityButton(label="Site", url="https://puddle.example"))
    return activity


def test_an_activity_is_encoded_with_all_fields() -> None:
    assert activities.to_wire(full_activity(), 7) == {
        "application_id": "7",
        "name": "Puddle",
        "type": 3,
        "status_display_type": 2,
        "state": "In a puddle",
        "state_url": "https://puddle.example/s",
        "details": "Jumping",
        "details_url": "https://puddle.example/d",
        "assets": {"large_image": "pond", "large_text": "A pond", "invite_cover_image": "cover"},
        "timestamps": {"start": 1_700_000_000_000, "end": 1_700_000_100_000},
        "party": {"id": "party-1", "size": [1, 4], "privacy": 1},
        "secrets": {"join": "let-me-in"},
        "supported_platforms": ["desktop", "ps5"],
        "buttons": ["Site"],
        "metadata": {"button_urls": ["https://puddle.example"]},
    }


def test_empty_fields_are_omitted() -> None:
    assert activities.to_wire(sdk.Activity(name="Puddle", assets=sdk.ActivityAssets()), 7) == {
        "application_id": "7",
        "name": "Puddle",
        "type": 0,
    }


def test_an_activity_is_decoded_from_a_presence() -> None:
    payload = decode(
        b'{"name":"Puddle","type":0,"application_id":"7","state":"hi","party":{"id":"p","size":[1,4]},"flags":2,'
        b'"supported_platforms":["desktop","toaster"],"buttons":["Site"],"assets":{"large_image":"x"},"new":1}',
        resources.presence.Activity,
    )

    activity = activities.from_wire(payload)

    assert (activity.application_id, activity.state, activity.supported_platforms) == (
        7,
        "hi",
        sdk.ActivityGamePlatforms.DESKTOP,
    )
    assert activity.party == sdk.ActivityParty(id="p", current_size=1, max_size=4)
    assert [button.label for button in activity.get_buttons()] == ["Site"]
    assert activity.secrets is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "n" * 129}, "name"),
        ({"type": sdk.ActivityTypes.STREAMING}, "type"),
        ({"state": "s"}, "state"),
        ({"details": "d" * 129}, "details"),
        ({"state_url": "u" * 257}, "state_url"),
        ({"assets": sdk.ActivityAssets(large_image="i" * 301)}, "assets.large_image"),
        ({"assets": sdk.ActivityAssets(small_text="t")}, "assets.small_text"),
        ({"party": sdk.ActivityParty(id="p", current_size=1)}, "party.id"),
        ({"party": sdk.ActivityParty(id="pp", current_size=0)}, "party.current_size"),
        ({"party": sdk.ActivityParty(id="pp", current_size=1, max_size=-1)}, "party.max_size"),
        ({"party": sdk.ActivityParty(id="pp", current_size=5, max_size=4)}, "party.current_size"),
        ({"secrets": sdk.ActivitySecrets(join="j" * 129)}, "secrets.join"),
        ({"buttons": [sdk.ActivityButton(label="l", url="u")] * 3}, "buttons"),
        ({"buttons": [sdk.ActivityButton(label="l" * 33, url="u")]}, "label"),
        ({"buttons": [sdk.ActivityButton(label="l", url="")]}, "url"),
    ],
)
def test_out_of_range_values_are_reported(changes: dict[str, Any], problem: str) -> None:
    activity = full_activity()
    assert list(activities.validation_errors(activity)) == []
    for name, value in changes.items():
        setattr(activity, name, value)

    assert problem in next(activities.validation_errors(activity))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"party": None}, False),
        ({"secrets": None}, False),
        ({"supported_platforms": sdk.ActivityGamePlatforms(0)}, False),
        ({"party": sdk.ActivityParty(id="full", current_size=4, max_size=4)}, False),
        ({"party": sdk.ActivityParty(id="open", current_size=4, max_size=0)}, True),
    ],
)
def test_an_activity_is_joinable_with_room_and_a_secret(change: dict[str, Any], expected: bool) -> None:
    activity = full_activity()
    for name, value in change.items():
        setattr(activity, name, value)

    assert activity.joinable is expected


# Objects


def test_a_copy_is_independent_with_equal_content() -> None:
    original = full_activity()

    duplicate = original.copy()
    assert duplicate == original
    assert duplicate.equals(original)
    assert duplicate.party is not original.party
    assert duplicate.buttons[0] is not original.buttons[0]
    duplicate.buttons.clear()
    assert copy.deepcopy(original) == original == copy.copy(original)
    assert len(original.get_buttons()) == 1


def test_a_moved_from_object_is_invalid() -> None:
    source = sdk.AuthorizationArgs(scopes="identify")

    target = source.move()

    assert target
    assert target.scopes == "identify"
    assert not source
    with pytest.raises(AssertionError):
        _ = source.scopes
    assert not source.copy()
    source.assign(target)
    assert source.scopes == "identify"


def test_null_objects_are_empty() -> None:
    for object_class in (sdk.AuthorizationArgs, sdk.Activity, sdk.ClientResult, sdk.UserHandle, sdk.Client, sdk.Call):
        assert not object_class.nullobj
        assert object_class.nullobj is object_class.nullobj
        repr(object_class.nullobj)
    with pytest.raises(sdk.InvalidObjectError):
        _ = sdk.UserHandle.nullobj.username


def test_null_objects_are_immutable() -> None:
    for activity_class, named_activity in (
        (sdk.Activity, sdk.Activity(name="x")),
        (compat.Activity, compat.Activity(name="x")),
    ):
        for change in (
            lambda null: null.assign(named_activity),  # noqa: B023
            lambda null: setattr(null, "name", "x"),
            lambda null: null.add_button(sdk.ActivityButton()),
        ):
            with pytest.raises(sdk.InvalidObjectError):
                change(activity_class.nullobj)
        assert (bool(activity_class.nullobj), activity_class.nullobj.__dict__) == (False, {})
        # A copy of a null object is invalid too, until another object is assigned to it.
        null_copy = activity_class.nullobj.copy()
        with pytest.raises(sdk.InvalidObjectError):
            null_copy.name = "x"
        assert null_copy.assign(named_activity).name == "x"
        assert not activity_class.nullobj
    with pytest.raises(sdk.InvalidObjectError):
        sdk.ClientResult.nullobj.error = "x"


def test_a_compat_record_is_changed_only_by_its_setters() -> None:
    activity, party = compat.Activity(), compat.ActivityParty()
    party.SetId("first")
    activity.SetParty(party)

    activity.Party().SetId("another")

    assert activity.Party().Id() == "first"


def test_clients_can_be_moved_but_not_copied() -> None:
    client = sdk.Client()

    new_client = client.move()

    assert not client
    assert new_client.get_status() is sdk.ClientStatus.DISCONNECTED
    with pytest.raises(TypeError, match="moved, not copied"):
        copy.copy(new_client)
    for module in (sdk, compat):
        with pytest.raises(TypeError, match="Client can be moved, not copied"):
            module.Client(new_client)
    with pytest.raises(TypeError, match="moved, not copied"):
        compat.VADThresholdSettings(sdk.VADThresholdSettings())
    new_client.close()


def test_records_reject_unknown_fields() -> None:
    with pytest.raises(TypeError, match="wings"):
        sdk.LinkedLobby(wings=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="fields"):
        sdk.LinkedLobby(1, 2, 3)  # type: ignore[call-arg]


def test_reprs_contain_no_secrets() -> None:
    verifier = sdk.Client().create_authorization_code_verifier()

    assert verifier.verifier not in repr(verifier)
    assert "let-me-in" not in repr(full_activity())


def test_the_compat_names_behave_the_same() -> None:
    client = compat.Client()
    args = compat.AuthorizationArgs()
    args.SetScopes(compat.Client.GetDefaultPresenceScopes())
    verifier = client.CreateAuthorizationCodeVerifier()
    args.SetCodeChallenge(verifier.Challenge())

    copied_args = compat.AuthorizationArgs(args)
    args.SetScopes("identify")

    assert copied_args.Scopes() == "openid sdk.social_layer_presence"
    assert copied_args.CodeChallenge().Challenge() == verifier.Challenge().Challenge()
    assert copied_args.State() is None
    assert isinstance(copied_args, sdk.AuthorizationArgs)
    assert compat.ErrorType.HTTPError is sdk.ErrorType.HTTP_ERROR
    assert compat.Client.StatusToString(compat.Client.Status.HttpWait) == "HttpWait"
    assert compat.Client.StatusToString(99) == "unknown"
    with pytest.raises(AssertionError):
        compat.AuthorizationArgs.nullobj.SetScopes("x")
    client.Close()


def test_a_compat_client_returns_compat_objects() -> None:
    client = compat.Client()
    results: list[Any] = []

    client.GetUserGuilds(lambda result, guilds: results.append(result)).done  # noqa: B018
    while not results:
        client.RunCallbacks()

    assert isinstance(client.GetRelationshipHandle(5), compat.RelationshipHandle)
    assert client.GetRelationshipHandle(5).PlatformRelationshipType() is sdk.RelationshipType.NONE
    assert isinstance(results[0], compat.ClientResult)
    assert results[0].Type() is sdk.ErrorType.CLIENT_NOT_READY
    assert not results[0].Successful()
    client.Close()


# Versions


@pytest.mark.parametrize(
    ("version", "expected"), [("1.10", True), ("1.6.14448", True), ("1.5", False), ("1.11", False)]
)
def test_the_five_newest_minors_are_supported(version: str, expected: bool) -> None:
    assert sdk.is_supported(version, NOW_MS) is expected


def test_the_version_matches_the_supported_release() -> None:
    client = sdk.Client
    numbers = (client.get_version_major(), client.get_version_minor(), client.get_version_patch())

    assert numbers == (1, 10, 18687)
    assert client.get_version_hash()


def test_the_revision_is_read_from_git_files_without_a_subprocess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        process = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        return process.stdout.strip()

    git("init", "-q", "-b", "trunk")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", "-b", "beside", str(tmp_path / "beside"))
    revision = git("rev-parse", "HEAD")
    revisions_from_loose_refs = [
        version._read_commit_hash(tmp_path / ".git"),
        version._read_commit_hash(tmp_path / "beside" / ".git"),
    ]
    git("pack-refs", "--all")
    revisions_from_packed_refs = [
        version._read_commit_hash(tmp_path / ".git"),
        version._read_commit_hash(tmp_path / "beside" / ".git"),
    ]
    git("checkout", "-q", "--detach")

    assert (revisions_from_loose_refs, revisions_from_packed_refs) == ([revision, revision], [revision, revision])
    assert version._read_commit_hash(tmp_path / ".git") == revision
    version.get_version_hash.cache_clear()
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a program was started"))
    assert version.get_version_hash()
    version.get_version_hash.cache_clear()
    monkeypatch.setattr(version, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "version.py"))
    assert version.get_version_hash() == hubbub.__version__
    version.get_version_hash.cache_clear()
