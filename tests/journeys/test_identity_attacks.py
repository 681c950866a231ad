"""Known attacks: requests to URLs that clients supply, forged external identity tokens, and foreign accounts."""

import asyncio
import base64
import hmac
import json
import socket
from typing import Any

import pytest
from aiohttp import web
from joserfc import jws, jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from hubbub.server.core import outbound_http
from hubbub.server.core.outbound_http import OutboundClient, UnreachableError
from hubbub.server.identity.identity_providers.tokens import issuers
from tests.issuer import Issuer, configuration_path, configure_issuer, request_token, request_unmerge
from tests.players import (
    BOT_ISSUED,
    create_provisional_player,
    create_social_game,
    link_account,
    request_bot_token,
    request_link_tokens,
)
from tests.receiver import Receiver
from tests.world import NOW_MS, World

NOW_SECONDS = NOW_MS // 1000


def forge_token(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    """Return a token of these parts, without a check that they fit together."""
    jwt_parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in jwt_parts)


def valid_claims(issuer: Issuer, **overrides: Any) -> dict[str, Any]:
    """Return the claims of a valid token of the issuer, changed by the overrides."""
    return {
        "iss": issuer.url,
        "sub": "victim",
        "aud": "game",
        "iat": NOW_SECONDS,
        "exp": NOW_SECONDS + 3600,
    } | overrides


# Server-side request forgery (SSRF)


async def test_ssrf_through_a_redirect_of_the_issuer_is_prevented(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    for path in ("/.well-known/openid-configuration", "/jwks"):
        issuer.redirects = {path: f"{issuer.url}/inner"}
        issuer.raw_bodies["/inner"] = json.dumps({"issuer": issuer.url, "keys": []}).encode()

        (await configure_issuer(client, issuer)).rejected(400, 530008 if path != "/jwks" else 530009)

    assert "/inner" not in issuer.requested_paths


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1",
        "https://[::1]",
        "https://[::ffff:127.0.0.1]",
        "https://[::ffff:7f00:1]",
        "https://[64:ff9b::7f00:1]",
        "https://2130706433",
        "https://0x7f000001",
        "https://0177.0.0.1",
        "https://127.1",
        "https://169.254.169.254",
        "https://metadata.internal",
        "https://localhost.",
        "https://id.localhost",
        "https://user@127.0.0.1",
    ],
)
async def test_ssrf_through_the_name_of_the_issuer_is_rejected(world: World, url: str) -> None:
    client = await create_social_game(world)
    body = {"clients": [{"id": "game"}], "oidc_issuer_url": url}

    assert (await client.owner.put(configuration_path(client), json=body)).errors("oidc_issuer_url") == [
        "OIDC_ISSUER_INVALID"
    ]


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("field", ["event_webhooks_url", "interactions_endpoint_url"])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/events",
        "http://[::1]/events",
        "http://[::ffff:127.0.0.1]/events",
        "http://2130706433/events",
        "http://0x7f.1/events",
        "http://169.254.169.254/latest",
        "http://10.0.0.7/events",
    ],
)
async def test_ssrf_through_the_url_of_a_webhook_is_rejected(world: World, field: str, url: str) -> None:
    bot = await world.bot()

    assert (await bot.patch("/applications/@me", json={field: url})).errors(field)
    assert (await bot.get("/applications/@me")).ok().get(field) is None


async def test_ssrf_through_a_redirect_of_a_webhook_is_prevented(
    private_targets_world: World, receiver: Receiver
) -> None:
    """A redirect from a webhook receiver is not followed, so it cannot lead to an internal host."""
    bot = await private_targets_world.bot()
    receiver.use_verify_key_of((await bot.get("/applications/@me")).ok())
    reached_paths: list[str] = []

    async def serve_inner(request: web.Request) -> web.Response:
        reached_paths.append(request.path)
        return web.Response(status=204)

    async def redirect_to_inner(_: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/inner")

    app = web.Application()
    app.add_routes([web.post("/events", redirect_to_inner), web.post("/inner", serve_inner)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/events"

    assert (await bot.patch("/applications/@me", json={"event_webhooks_url": url})).errors("event_webhooks_url")
    assert reached_paths == []
    await runner.cleanup()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fd00::1"]
)
async def test_ssrf_through_a_name_with_an_internal_address_is_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """A public name that resolves to an internal address is rejected."""
    client = await create_social_game(world)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    async def resolve(*_: Any, **__: Any) -> Any:
        return [(family, socket.SOCK_STREAM, 6, "", (address, 443))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve, raising=False)
    body = {"clients": [{"id": "game"}], "oidc_issuer_url": "https://id.example.com"}
    response = await client.owner.put(configuration_path(client), json=body)

    response.rejected(400, 530008)


async def test_ssrf_by_dns_rebinding_is_prevented(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name has a public address when it is checked, then a private one: each request resolves it once and uses that result."""
    lookups: list[str] = []

    async def resolve(host: str, *_: Any, **__: Any) -> Any:
        lookups.append(host)
        address = "93.184.215.14" if len(lookups) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))]

    connected_addresses: list[Any] = []

    async def connect(_: Any, sock: Any, address: Any) -> None:
        connected_addresses.append(address[0])
        raise OSError("connections are disabled in this test")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "getaddrinfo", resolve, raising=False)
    monkeypatch.setattr(type(loop), "sock_connect", connect, raising=False)
    outbound_client = OutboundClient()
    with pytest.raises(UnreachableError):
        await outbound_client.request("GET", "https://id.example.com/")
    with pytest.raises(outbound_http.ForbiddenTargetError):
        await outbound_client.request("GET", "https://id.example.com/")
    await outbound_client.close()

    assert "127.0.0.1" not in connected_addresses
    assert issuers.find_issuer_problem("https://id.example.com", is_strict=True) is None


async def test_ssrf_through_the_keys_of_an_issuer_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    for url in ("file:///etc/passwd", "gopher://127.0.0.1/", "javascript:1", "//127.0.0.1/jwks"):
        issuer.discovery_overrides = {"jwks_uri": url}
        response = await configure_issuer(client, issuer)
        response.rejected(400, 530009)


async def test_an_oversized_response_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    issuer.raw_bodies["/.well-known/openid-configuration"] = b" " * (outbound_http.RESPONSE_BYTES_MAX + 1)

    (await configure_issuer(client, issuer)).rejected(400, 530008)


# Signatures


async def test_a_token_with_the_algorithm_none_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()

    for algorithm in ("none", "None", "NONE", "", None, 7):
        token = forge_token({"alg": algorithm, "kid": "one"}, valid_claims(issuer))
        (await request_token(client, token)).rejected(400, 530020)
    signed_token = issuer.sign_token()
    (await request_token(client, signed_token.rpartition(".")[0] + ".")).rejected(400, 530020)


async def test_a_token_signed_by_hmac_confusion_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    """The public key is used as an HMAC secret."""
    client = await create_social_game(any_issuer_world)
    issuer.add_rsa_key("rsa")
    issuer.discovery_overrides = {"id_token_signing_alg_values_supported": ["RS256", "HS256"]}
    (await configure_issuer(client, issuer)).ok()
    key = issuer.keys["rsa"]

    for secret in (key.as_pem(private=False), json.dumps(key.as_dict(private=False)).encode(), b""):
        for bits in ("256", "384", "512"):
            body = forge_token({"alg": f"HS{bits}", "kid": "rsa"}, valid_claims(issuer)).rpartition(".")[0]
            signature = hmac.digest(secret, body.encode(), f"sha{bits}")
            token = f"{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
            (await request_token(client, token)).rejected(400, 530020)


async def test_a_shared_secret_among_the_keys_is_not_accepted(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    secret = OctKey.generate_key(256, parameters={"kid": "shared"})
    published_keys = [secret.as_dict(private=True), issuer.keys["one"].as_dict(private=False)]
    issuer.raw_bodies["/jwks"] = json.dumps({"keys": published_keys}).encode()
    (await configure_issuer(client, issuer)).ok()

    token = jwt.encode({"alg": "HS256", "kid": "shared"}, valid_claims(issuer), secret, algorithms=["HS256"])

    (await request_token(client, token)).rejected(400, 530020)


async def test_a_key_and_an_algorithm_of_different_families_are_rejected(
    any_issuer_world: World, issuer: Issuer
) -> None:
    client = await create_social_game(any_issuer_world)
    issuer.add_rsa_key("rsa")
    (await configure_issuer(client, issuer)).ok()

    (await request_token(client, issuer.sign_token(key="rsa", alg="RS256", header={"kid": "one"}))).rejected(
        400, 530020
    )
    (await request_token(client, issuer.sign_token(header={"kid": "rsa"}))).rejected(400, 530020)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("kid", ["../../etc/passwd", "one' OR '1'='1", "http://127.0.0.1/key", "\0", "x" * 5000, "ONE"])
async def test_kid_injection_is_rejected_without_a_request(any_issuer_world: World, issuer: Issuer, kid: str) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    issuer.requested_paths.clear()

    (await request_token(client, issuer.sign_token(header={"kid": kid}))).rejected(400, 530020)

    assert issuer.requested_paths == []


async def test_a_key_supplied_in_the_header_is_not_used(any_issuer_world: World, issuer: Issuer) -> None:
    """jwk, jku and x5u in the header name the attacker's own key."""
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    attacker_key = ECKey.generate_key("P-256", parameters={"kid": "one"})
    attacker = Issuer()
    attacker.keys = {"one": attacker_key}
    await attacker.open()
    try:
        for header in (
            {"jwk": attacker_key.as_dict(private=False)},
            {"jku": f"{attacker.url}/jwks"},
            {"x5u": f"{attacker.url}/certificate"},
        ):
            full_header = {"alg": "ES256", "kid": "one", **header}
            token = jwt.encode(full_header, valid_claims(issuer), attacker_key)
            (await request_token(client, token)).rejected(400, 530020)
        assert attacker.requested_paths == []
    finally:
        await attacker.close()


async def test_an_unknown_critical_header_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    key: Any = issuer.keys["one"]
    forged_token = forge_token({"alg": "ES256", "kid": "one", "crit": ["wings"], "wings": True}, valid_claims(issuer))
    body = forged_token.rpartition(".")[0]
    algorithm = jws.JWSRegistry.algorithms["ES256"]
    signature = base64.urlsafe_b64encode(algorithm.sign(body.encode(), key)).rstrip(b"=").decode()

    (await request_token(client, f"{body}.{signature}")).rejected(400, 530020)


async def test_a_key_that_is_too_short_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    with pytest.warns(match="2048 bits"):
        small_key = RSAKey.generate_key(1024, parameters={"kid": "small"})
    issuer.keys["small"] = small_key
    (await configure_issuer(client, issuer)).ok()

    (await request_token(client, issuer.sign_token(key="small", alg="RS256"))).rejected(400, 530020)


# Foreign accounts


async def test_a_token_of_another_client_of_the_same_issuer_is_rejected(
    any_issuer_world: World, issuer: Issuer
) -> None:
    """A malicious game trusts the same issuer and replays its players' tokens to another game."""
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()

    (await request_token(client, issuer.sign_token("victim", aud="evil-game"))).rejected(400, 530003)
    (await request_token(client, issuer.sign_token("victim", aud=["evil-game"], azp="game"))).rejected(400, 530003)


async def test_an_issuer_cannot_sign_for_another_issuer(any_issuer_world: World, issuer: Issuer) -> None:
    """Two issuers are trusted; one of them signs claims that belong to the other."""
    client = await create_social_game(any_issuer_world)
    other_issuer = Issuer()
    await other_issuer.open()
    try:
        clients = [{"id": "game"}, {"id": "beta", "oidc_issuer_url": other_issuer.url}]
        (await configure_issuer(client, issuer, clients=clients)).ok()
        (await request_token(client, other_issuer.sign_token("victim", iss=issuer.url))).rejected(400, 530020)
        (await request_token(client, other_issuer.sign_token("victim"))).rejected(400, 530003)
        first_token = (await request_token(client, issuer.sign_token("same"))).ok()["access_token"]
        second_token = (await request_token(client, other_issuer.sign_token("same", aud="beta"))).ok()["access_token"]
        encoded_user_ids = [token.partition(".")[0] for token in (first_token, second_token)]
        assert encoded_user_ids[0] != encoded_user_ids[1]
    finally:
        await other_issuer.close()


async def test_a_linked_account_cannot_be_taken_over(any_issuer_world: World, issuer: Issuer) -> None:
    """A player token of a linked user never yields a token of that user's account."""
    client, alice, mallory = (
        await create_social_game(any_issuer_world),
        await any_issuer_world.user(),
        await any_issuer_world.user(),
    )
    (await configure_issuer(client, issuer)).ok()
    await link_account(client, alice, issuer.sign_token("victim"), "OIDC")

    (await request_token(client, issuer.sign_token("victim"))).rejected(400, 530010)
    (await request_bot_token(client, "x", provisional_user_id=str(alice.id))).rejected(404, 10013)
    code = await client.request_code(mallory, "sdk.social_layer")
    credential = {"external_auth_type": "OIDC", "external_auth_token": issuer.sign_token("victim")}
    (await client.exchange(code, **credential)).rejected(400, 530014)


async def test_a_stolen_player_token_of_another_game_is_rejected(world: World) -> None:
    client, evil_client, mallory = await create_social_game(world), await create_social_game(world), await world.user()
    victim = await create_provisional_player(client, "victim")

    code = await evil_client.request_code(mallory, "sdk.social_layer")
    response = await evil_client.exchange(code, external_auth_type=BOT_ISSUED, external_auth_token=victim.token)

    response.rejected(403, 50025)
    (await victim.get("/users/@me")).ok()


async def test_a_foreign_account_cannot_be_unlinked(any_issuer_world: World, issuer: Issuer) -> None:
    client, evil_client, alice = (
        await create_social_game(any_issuer_world),
        await create_social_game(any_issuer_world),
        await any_issuer_world.user(),
    )
    (await configure_issuer(client, issuer)).ok()
    (await configure_issuer(evil_client, issuer)).ok()
    tokens = await request_link_tokens(client, alice, issuer.sign_token("victim"), "OIDC")

    (await request_unmerge(evil_client, issuer.sign_token("victim"))).rejected(404, 10013)
    (await request_unmerge(client, issuer.sign_token("victim", exp=NOW_SECONDS - 1))).rejected(400, 530001)
    assert evil_client.bot is not None
    path = "/partner-sdk/provisional-accounts/unmerge/bot"
    (await evil_client.bot.post(path, json={"external_user_id": "victim"})).rejected(404, 10013)

    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).ok()
