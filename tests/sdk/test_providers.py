"""Players signed in through external identity providers: sign-in, account linking and unlinking."""

import pytest

from hubbub.protocol.enums import CloseCode
from hubbub.sdk import (
    AuthenticationExternalAuthType,
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientError,
    ClientStatus,
    ErrorType,
    ExternalIdentityProviderType,
    HttpStatusCode,
    SdkError,
)
from tests.demo_rehearsal import DemoRehearsal
from tests.sdk.browsers import ConsentBrowser
from tests.sdk.players import CallbackRecorder, new_client

BEARER = AuthorizationTokenType.BEARER
OIDC = AuthenticationExternalAuthType.OIDC


async def create_credential(demo_rehearsal: DemoRehearsal, provider: str, user_id: str, **claims: object) -> str:
    """Return a credential of a simulated identity provider."""
    return (await demo_rehearsal.issue_credential(provider, user_id, **claims))[1]


async def sign_in(demo_rehearsal: DemoRehearsal, client: Client, user_id: str = "hero-1") -> int:
    """Sign in as a user of the simulated OIDC provider, connect, and return the ID of the account."""
    tokens = await client.get_provisional_token(
        demo_rehearsal.demo_game.id, OIDC, await create_credential(demo_rehearsal, "oidc", user_id)
    )
    await client.update_token(BEARER, tokens.access_token)
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    return me.id


@pytest.mark.parametrize(
    ("provider", "auth_type", "expected_type", "claims"),
    [
        ("oidc", OIDC, ExternalIdentityProviderType.OIDC, {}),
        (
            "epic",
            AuthenticationExternalAuthType.EPIC_ONLINE_SERVICES_ACCESS_TOKEN,
            ExternalIdentityProviderType.EPIC_ONLINE_SERVICES,
            {"kind": "access_token"},
        ),
        (
            "epic",
            AuthenticationExternalAuthType.EPIC_ONLINE_SERVICES_ID_TOKEN,
            ExternalIdentityProviderType.EPIC_ONLINE_SERVICES,
            {},
        ),
        ("steam", AuthenticationExternalAuthType.STEAM_SESSION_TICKET, ExternalIdentityProviderType.STEAM, {}),
        ("unity", AuthenticationExternalAuthType.UNITY_SERVICES_ID_TOKEN, ExternalIdentityProviderType.UNITY, {}),
        # The providers Apple and PlayStation have no enumerator yet (spec/sdk.md#2).
        ("apple", AuthenticationExternalAuthType.APPLE_ID_TOKEN, ExternalIdentityProviderType.UNKNOWN, {}),
        (
            "playstation",
            AuthenticationExternalAuthType.PLAY_STATION_NETWORK_ID_TOKEN,
            ExternalIdentityProviderType.UNKNOWN,
            {},
        ),
    ],
)
async def test_a_player_signs_in_with_a_provider_credential(
    demo_rehearsal: DemoRehearsal,
    provider: str,
    auth_type: AuthenticationExternalAuthType,
    expected_type: ExternalIdentityProviderType,
    claims: dict[str, str],
) -> None:
    client = new_client(demo_rehearsal)
    token = await create_credential(demo_rehearsal, provider, "76561190000000001", name="Hero", **claims)

    tokens_received = await client.get_provisional_token(demo_rehearsal.demo_game.id, auth_type, token)

    assert (tokens_received.token_type, tokens_received.refresh_token, tokens_received.expires_in) == (
        BEARER,
        "",
        604_800,
    )
    assert "sdk.social_layer" in tokens_received.scopes
    await client.update_token(tokens_received.token_type, tokens_received.access_token)
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    assert me.is_provisional
    assert (await client.fetch_current_user(BEARER, tokens_received.access_token)).id == me.id
    [profile] = client.get_user_application_profiles(me.id)
    assert (profile.provider_type, profile.provider_issued_user_id) == (expected_type, "76561190000000001")
    assert client.get_user_application_profiles_no_lock(me.id) == me.user_application_profiles == [profile]
    assert client.get_user_application_profiles(5) == []
    await client.close()


async def test_a_returning_player_keeps_the_account_and_a_bad_credential_is_rejected(
    demo_rehearsal: DemoRehearsal,
) -> None:
    client = new_client(demo_rehearsal)
    first_user_id = await sign_in(demo_rehearsal, client)
    await client.disconnect()
    assert await sign_in(demo_rehearsal, client) == first_user_id

    expired_credential = await create_credential(demo_rehearsal, "oidc", "hero-1", expires_in=-10)
    with pytest.raises(SdkError) as caught:
        await client.get_provisional_token(demo_rehearsal.demo_game.id, OIDC, expired_credential)

    result = caught.value.result
    assert (result.type, result.error_code, result.status, result.retryable) == (
        ErrorType.HTTP_ERROR,
        530001,
        HttpStatusCode.BAD_REQUEST,
        False,
    )
    assert expired_credential not in repr(result) + str(caught.value) + result.response_body
    await client.close()


async def test_a_player_links_and_unlinks_an_account(demo_rehearsal: DemoRehearsal) -> None:
    alice = demo_rehearsal.demo_user("alice")
    browser = ConsentBrowser(alice)
    client = new_client(demo_rehearsal, open_browser=browser)
    provisional_user_id = await sign_in(demo_rehearsal, client)
    statuses = CallbackRecorder()
    client.set_status_changed_callback(statuses)

    verifier = client.create_authorization_code_verifier()
    scopes = client.get_default_communication_scopes()
    args = AuthorizationArgs(client_id=demo_rehearsal.demo_game.id, scopes=scopes, code_challenge=verifier.challenge)
    code, redirect_uri = await client.authorize(args)
    tokens = await client.get_token_from_provisional_merge(
        demo_rehearsal.demo_game.id,
        code,
        verifier.verifier,
        redirect_uri,
        OIDC,
        await create_credential(demo_rehearsal, "oidc", "hero-1"),
    )
    # The provisional account no longer exists.
    assert await statuses.next() == (
        ClientStatus.DISCONNECTED,
        ClientError.UNEXPECTED_CLOSE,
        CloseCode.AUTHENTICATION_FAILED,
    )
    await client.update_token(BEARER, tokens.access_token)
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    assert (me.id, me.is_provisional) == (alice.id, False)
    with pytest.raises(SdkError) as caught:
        await client.get_provisional_token(
            demo_rehearsal.demo_game.id, OIDC, await create_credential(demo_rehearsal, "oidc", "hero-1")
        )
    assert caught.value.result.error_code == 530010

    await client.unmerge_into_provisional_account(
        demo_rehearsal.demo_game.id, OIDC, await create_credential(demo_rehearsal, "oidc", "hero-1")
    )
    assert (await statuses.next(lambda _, error, __: error is ClientError.UNEXPECTED_CLOSE))[
        2
    ] == CloseCode.AUTHENTICATION_FAILED
    with pytest.raises(SdkError) as caught:
        await client.refresh_token(demo_rehearsal.demo_game.id, tokens.refresh_token)
    assert caught.value.result.error == "invalid_grant"
    assert await sign_in(demo_rehearsal, client) not in (provisional_user_id, alice.id)
    await client.close()
