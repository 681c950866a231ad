"""Provisional accounts through the SDK: names, merges into full accounts, and rejected credentials.

One test is about the exchange of a publisher's token for a token of a game.
"""

import asyncio
from urllib.parse import parse_qsl, urlsplit

import pytest

from hubbub.protocol.ids import ApplicationId
from hubbub.sdk import (
    AuthenticationExternalAuthType,
    AuthorizationArgs,
    AuthorizationTokenType,
    DeviceAuthorizationArgs,
    ErrorType,
    SdkError,
)
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, identities
from tests.sdk.browsers import ConsentBrowser, skip_device_waits
from tests.sdk.players import BOT_ISSUED, create_game, new_client, request_provisional_token
from tests.world import WAIT_TIMEOUT_SECONDS, World

BEARER = AuthorizationTokenType.BEARER


async def test_a_provisional_player_connects_and_chooses_a_name(world: World) -> None:
    application = await create_game(world)
    token = (await request_provisional_token(application, "hero-1")).ok()["access_token"]
    client = new_client(world)
    await client.update_token(BEARER, token)
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    assert me.is_provisional

    await client.update_provisional_account_display_name("Hero One")

    assert (await client.fetch_current_user(BEARER, token)).name == "Hero One"
    for invalid_name in ("", "x" * 33):
        with pytest.raises(SdkError) as caught:
            await client.update_provisional_account_display_name(invalid_name)
        assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await client.close()


async def test_a_provisional_account_merges_into_a_full_account(world: World) -> None:
    application, mary = await create_game(world), await world.user("mary")
    access_token = (await request_provisional_token(application, "hero-1")).ok()["access_token"]
    client = new_client(world, open_browser=ConsentBrowser(mary))
    verifier = client.create_authorization_code_verifier()
    code, redirect_uri = await client.authorize(
        AuthorizationArgs(
            client_id=application.id,
            scopes=client.get_default_communication_scopes(),
            code_challenge=verifier.challenge,
        )
    )

    tokens = await client.get_token_from_provisional_merge(
        application.id, code, verifier.verifier, redirect_uri, BOT_ISSUED, access_token
    )

    assert (await client.fetch_current_user(BEARER, tokens.access_token)).id == mary.id
    rejection = (await request_provisional_token(application, "hero-1")).rejected(400, 530010)
    assert rejection["user_id"] == str(mary.id)
    await client.close()


async def test_a_bad_credential_reports_the_error_code(world: World) -> None:
    application = await create_game(world)
    client = new_client(world)

    with pytest.raises(SdkError) as caught:
        await client.get_provisional_token(application.id, AuthenticationExternalAuthType.OIDC, "not.a.token")
    assert caught.value.result.type is ErrorType.HTTP_ERROR
    assert caught.value.result.error_code == 530008

    with pytest.raises(SdkError) as caught:
        await client.unmerge_into_provisional_account(
            application.id, AuthenticationExternalAuthType.OIDC, "not.a.token"
        )
    assert caught.value.result.type is ErrorType.HTTP_ERROR
    assert caught.value.result.error_code == 530008

    with pytest.raises(SdkError) as caught:
        await client.exchange_child_token("not-a-token-at-all", application.id)
    assert caught.value.result.type is ErrorType.HTTP_ERROR
    assert caught.value.result.error_code == 50025
    await client.close()


async def test_a_device_links_a_provisional_account(world: World) -> None:
    application, mary = await create_game(world), await world.user("mary")
    access_token = (await request_provisional_token(application, "hero-1")).ok()["access_token"]
    loop = asyncio.get_running_loop()

    async def grant_code(url: str) -> None:
        code = dict(parse_qsl(urlsplit(url).query))["user_code"]
        (await mary.post("/oauth2/device/finish", json={"user_code": code, "result": "granted"})).ok()

    client = new_client(
        world,
        open_browser=lambda url: asyncio.run_coroutine_threadsafe(grant_code(url), loop).result(WAIT_TIMEOUT_SECONDS),
    )
    skip_device_waits(world, client)

    tokens = await client.get_token_from_device_provisional_merge(
        DeviceAuthorizationArgs(client_id=application.id, scopes="openid sdk.social_layer"), BOT_ISSUED, access_token
    )

    assert (await client.fetch_current_user(BEARER, tokens.access_token)).id == mary.id
    await client.close()


async def test_a_publisher_token_is_exchanged_for_a_game_token(world: World) -> None:
    publisher = await create_game(world, name="Publisher")
    child_game = await create_game(world, owner=publisher.owner, name="Game")

    def join_family(call: Call) -> None:
        rows = [applications.find(call.tx, ApplicationId(application.id)) for application in (child_game, publisher)]
        identities.join_family(call, *rows)

    await world.write(join_family)
    mary = await world.user("mary")
    parent_token = (await publisher.request_tokens(mary, "openid sdk.social_layer"))["access_token"]
    client = new_client(world)

    child_tokens = await client.exchange_child_token(parent_token, child_game.id)

    assert (child_tokens.token_type, child_tokens.scopes.split()[-1]) == (BEARER, "sdk.social_layer")
    assert 0 < child_tokens.expires_in <= 604_800
    await client.update_token(child_tokens.token_type, child_tokens.access_token)
    await client.connect()
    assert client.get_application_id() == child_game.id
    await client.close()
