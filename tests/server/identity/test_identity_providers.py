"""Identity providers: configurations, OIDC, keys, malformed responses, and the emulated providers of a rehearsal."""

import base64
import json
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.server.core import outbound_cache, outbound_http
from hubbub.server.identity.identity_providers.tokens.issuers import IssuerValidation, find_issuer_problem
from tests.demo_rehearsal import DemoRehearsal
from tests.issuer import Issuer, configuration_path, configure_issuer, request_token, request_unmerge
from tests.oauth import assert_oauth2_error, create_pkce_pair
from tests.players import create_bearer, create_social_game, link_account, request_link_tokens
from tests.world import NOW_MS, World

DAY_SECONDS = 86_400
NOW_SECONDS = NOW_MS // 1000


# Configurations


async def test_an_owner_configures_identity_providers(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    list_path = f"/applications/{client.id}/external-identity-provider-configurations"
    body = {"clients": [{"id": "game", "description": "live", "environment": "production"}]}

    oidc_configuration = (await configure_issuer(client, issuer, **body)).ok()
    steam_configuration = (
        await client.owner.put(configuration_path(client, "STEAM"), json={"clients": [{"id": "480"}]})
    ).ok()

    assert oidc_configuration == {"type": "OIDC", "oidc_issuer_url": issuer.url, **body}
    assert steam_configuration == {"type": "STEAM", "oidc_issuer_url": None, "clients": [{"id": "480"}]}
    assert (await client.owner.get(list_path)).ok() == [oidc_configuration, steam_configuration]
    assert issuer.requested_paths == ["/.well-known/openid-configuration", "/jwks"]
    (await client.owner.delete(configuration_path(client, "STEAM"))).ok()
    assert (await client.owner.get(list_path)).ok() == [oidc_configuration]
    (await client.owner.delete(configuration_path(client, "STEAM"))).rejected(404, 0)


async def test_only_the_owner_manages_identity_providers(world: World) -> None:
    client, other_user = await create_social_game(world), await world.user()
    assert client.bot is not None
    body = {"clients": [{"id": "480"}]}

    (await other_user.put(configuration_path(client, "STEAM"), json=body)).rejected(403, 20012)
    (await other_user.get(configuration_path(client, "STEAM").rpartition("/")[0])).rejected(403, 20012)
    (await other_user.delete(configuration_path(client, "STEAM"))).rejected(403, 20012)
    (await client.bot.put(configuration_path(client, "STEAM"), json=body)).rejected(403, 20001)
    unknown_path = configuration_path(client, "STEAM").replace(str(client.id), "1")
    (await client.owner.put(unknown_path, json=body)).rejected(404, 10002)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("provider_type", "body", "path", "code"),
    [
        ("WINGS", {"clients": [{"id": "a"}]}, "type", "BASE_TYPE_CHOICES"),
        ("STEAM", {"clients": []}, "clients", "BASE_TYPE_BAD_LENGTH"),
        ("STEAM", {"clients": [{"id": ""}]}, "clients.0.id", "BASE_TYPE_BAD_LENGTH"),
        ("STEAM", {"clients": [{"id": "a"}, {"id": "a"}]}, "clients.1.id", "CLIENT_ID_REPEATED"),
        (
            "STEAM",
            {"clients": [{"id": "a", "description": "x" * 251}]},
            "clients.0.description",
            "BASE_TYPE_MAX_LENGTH",
        ),
        (
            "STEAM",
            {"clients": [{"id": "a"}], "oidc_issuer_url": "https://a.example"},
            "oidc_issuer_url",
            "OIDC_ISSUER_NOT_ALLOWED",
        ),
        ("OIDC", {"clients": [{"id": "a"}]}, "oidc_issuer_url", "BASE_TYPE_REQUIRED"),
        (
            "OIDC",
            {"clients": [{"id": "a"}], "oidc_issuer_url": "http://a.example"},
            "oidc_issuer_url",
            "OIDC_ISSUER_INVALID",
        ),
        (
            "OIDC",
            {"clients": [{"id": "a", "oidc_issuer_url": "https://127.0.0.1"}]},
            "clients.0.oidc_issuer_url",
            "OIDC_ISSUER_INVALID",
        ),
    ],
)
async def test_an_invalid_configuration_names_the_invalid_field(
    world: World, provider_type: str, body: dict[str, Any], path: str, code: str
) -> None:
    client = await create_social_game(world)

    assert (await client.owner.put(configuration_path(client, provider_type), json=body)).errors(path) == [code]


@pytest.mark.parametrize(
    ("url", "is_valid"),
    [
        ("https://id.example.com", True),
        ("https://id.example.com:8443/realms/game", True),
        ("https://id.example.com./", True),
        ("https://xn--bcher-kva.example", True),
        ("http://id.example.com", False),
        ("https://localhost", False),
        ("https://id.localhost", False),
        ("https://printer.local", False),
        ("https://host.internal", False),
        ("https://1.0.0.127.in-addr.arpa", False),
        ("https://intranet", False),
        ("https://127.0.0.1", False),
        ("https://2130706433", False),
        ("https://0x7f.1", False),
        ("https://0x7f000001", False),
        ("https://127.1", False),
        ("https://example.0x7f", False),
        ("https://[::1]", False),
        ("https://[::ffff:127.0.0.1]", False),
        ("https://user@id.example.com", False),
        ("https://user:word@id.example.com", False),
        ("https://id.example.com?x", False),
        ("https://id.example.com/#x", False),
        ("https://id.example.com\\@evil.example", False),
        ("https://id..example.com", False),
        ("https://id.example.com:99999", False),
        ("https://id exa.mple", False),
        ("https://bücher.example", False),
        ("javascript:alert(1)", False),
        ("", False),
    ],
)
def test_issuer_urls_are_validated(url: str, is_valid: bool) -> None:
    assert (find_issuer_problem(url, is_strict=True) is None) is is_valid


async def test_an_issuer_with_invalid_or_unreachable_documents_is_rejected(
    any_issuer_world: World, issuer: Issuer
) -> None:
    client = await create_social_game(any_issuer_world)

    for discovery in (
        {"issuer": "http://other"},
        {"id_token_signing_alg_values_supported": ["HS256"]},
        {"id_token_signing_alg_values_supported": None},
        {"jwks_uri": None},
    ):
        issuer.discovery_overrides = discovery
        (await configure_issuer(client, issuer)).rejected(400, 530008)
    issuer.discovery_overrides = {"jwks_uri": f"{issuer.url}/nowhere"}
    (await configure_issuer(client, issuer)).rejected(400, 530009)
    issuer.discovery_overrides = {"jwks_uri": "file:///etc/passwd"}
    (await configure_issuer(client, issuer)).rejected(400, 530009)
    await issuer.close()
    (await configure_issuer(client, issuer)).rejected(400, 530008)


async def test_strict_validation_does_not_apply_to_issuers_configured_before(
    any_issuer_world: World, issuer: Issuer
) -> None:
    import msgspec

    from hubbub.server.core.config import IdentityConfig

    world = any_issuer_world
    client = await create_social_game(world)
    (await configure_issuer(client, issuer)).ok()
    assert world.app._http_server is not None
    strict_config = msgspec.structs.replace(world.app.config, identity=IdentityConfig())
    world.app.config = world.app._http_server._config = strict_config

    (await request_token(client, issuer.sign_token())).ok()
    assert (await configure_issuer(client, issuer)).errors("oidc_issuer_url") == ["OIDC_ISSUER_INVALID"]
    # An issuer that was configured with strict validation is checked again with every token.
    await world.write(lambda call: call.tx.run("UPDATE identity_providers SET level = ?", IssuerValidation.STRICT))
    (await request_token(client, issuer.sign_token())).rejected(400, 530008)


@pytest.mark.dated(changes.OIDC_STRICT_ISSUER)
async def test_issuers_are_validated_strictly_from_the_date(any_issuer_world: World, issuer: Issuer) -> None:
    import msgspec

    from hubbub.server.core.config import IdentityConfig

    world = any_issuer_world
    client = await create_social_game(world)
    assert world.app._http_server is not None
    strict_config = msgspec.structs.replace(world.app.config, identity=IdentityConfig())
    world.app.config = world.app._http_server._config = strict_config

    world.clock.set(changes.OIDC_STRICT_ISSUER.at_ms - 1)
    (await configure_issuer(client, issuer)).ok()
    world.clock.set(changes.OIDC_STRICT_ISSUER.at_ms)
    assert (await configure_issuer(client, issuer)).errors("oidc_issuer_url") == ["OIDC_ISSUER_INVALID"]


@pytest.mark.dated(changes.OIDC_STRICT_ISSUER)
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks"])
async def test_redirects_are_followed_for_configurations_saved_before_the_date(
    any_issuer_world: World, issuer: Issuer, path: str
) -> None:
    world, issuer_at_target = any_issuer_world, Issuer()
    issuer_at_target.keys = issuer.keys
    await issuer_at_target.open()
    issuer_at_target.discovery_overrides = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/jwks"}
    issuer.redirects[path] = f"{issuer_at_target.url}{path}"
    client, error_code = await create_social_game(world), 530009 if path == "/jwks" else 530008

    def sign_token() -> str:
        now_seconds = world.clock.now_ms() // 1000
        return issuer.sign_token(iat=now_seconds, exp=now_seconds + 3600)

    # Before the date, redirects are followed when the configuration is saved and when it is used.
    world.clock.set(changes.OIDC_STRICT_ISSUER.at_ms - 1)
    (await configure_issuer(client, issuer)).ok()
    (await request_token(client, sign_token())).ok()

    # From the date on, an existing configuration works as before, even if the cached documents have expired.
    world.clock.set(changes.OIDC_STRICT_ISSUER.at_ms + outbound_cache.FRESH_MS)
    issuer.requested_paths.clear()
    (await request_token(client, sign_token())).ok()
    assert path in issuer.requested_paths

    # From the date on, edits of the configuration and new configurations are rejected.
    (await configure_issuer(client, issuer)).rejected(400, error_code)
    (await configure_issuer(await create_social_game(world), issuer)).rejected(400, error_code)
    (await request_token(client, sign_token())).ok()
    await issuer_at_target.close()


async def test_endless_redirects_are_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    any_issuer_world.clock.set(changes.OIDC_STRICT_ISSUER.at_ms - 1)
    client = await create_social_game(any_issuer_world)
    issuer.redirects["/.well-known/openid-configuration"] = "/.well-known/openid-configuration"

    (await configure_issuer(client, issuer)).rejected(400, 530008)

    assert len(issuer.requested_paths) == outbound_http.REDIRECTS_MAX + 1


async def test_saving_fetches_the_documents_of_the_issuer_again(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    (await configure_issuer(client, issuer)).ok()
    assert issuer.requested_paths == ["/.well-known/openid-configuration", "/jwks"] * 2

    # The documents that a save fetches replace the cached ones.
    (await request_token(client, issuer.sign_token())).ok()
    assert len(issuer.requested_paths) == 4


# OIDC


async def test_a_player_gets_an_access_token_with_an_id_token(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()

    tokens = (await request_token(client, issuer.sign_token("ada", preferred_username="Ada"))).ok()
    second_tokens = (await request_token(client, issuer.sign_token("ada", aud=["other", "game"]))).ok()

    player = await create_bearer(client, tokens["access_token"])
    own_user = (await player.get("/users/@me")).ok()
    assert own_user["global_name"] == "Ada"
    assert (await create_bearer(client, second_tokens["access_token"])).id == player.id
    (identity,) = (await player.post("/application-identities", json={"user_ids": [str(player.id)]})).ok()
    assert identity["external_user_id"] == "ada"


@pytest.mark.parametrize("name", [None, "", "x" * 33, 7])
async def test_without_a_valid_name_the_player_has_no_display_name(
    any_issuer_world: World, issuer: Issuer, name: Any
) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()

    tokens = (await request_token(client, issuer.sign_token("ada", preferred_username=name))).ok()

    assert (await (await create_bearer(client, tokens["access_token"])).get("/users/@me")).ok()["global_name"] is None


async def test_every_invalid_id_token_has_a_specific_error_code(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    other_issuer = Issuer()

    for code, token in (
        (530001, issuer.sign_token(exp=NOW_SECONDS)),
        (530002, issuer.sign_token(iss="http://other.example")),
        (530002, issuer.sign_token(iss=None)),
        (530002, issuer.sign_token(iss=issuer.url + "/")),
        (530003, issuer.sign_token(aud="another-client")),
        (530003, issuer.sign_token(aud=None)),
        (530003, issuer.sign_token(aud=["other", "game"], azp="other")),
        (530004, issuer.sign_token(iat=NOW_SECONDS - 7 * DAY_SECONDS - 1)),
        (530020, issuer.sign_token(iat=NOW_SECONDS + 3600)),
        (530020, issuer.sign_token(nbf=NOW_SECONDS + 3600)),
        (530020, issuer.sign_token(iat="today")),
        (530020, issuer.sign_token(exp=None)),
        (530020, issuer.sign_token("")),
        (530020, issuer.sign_token(sub=None)),
        (530020, "nonsense"),
        (530020, "a.b.c"),
        (530020, issuer.sign_token()[:-8] + "AAAAAAAA"),
        (530020, other_issuer.sign_token(iss=issuer.url)),
        (530027, issuer.sign_token(header={"kid": None})),
        (530027, issuer.sign_token(header={"kid": ""})),
    ):
        (await request_token(client, token)).rejected(400, code)
    (await request_token(client, issuer.sign_token(iat=NOW_SECONDS - 7 * DAY_SECONDS))).ok()


async def test_a_token_request_requires_client_authentication_and_valid_fields(
    any_issuer_world: World, issuer: Issuer
) -> None:
    client, public_client = (
        await create_social_game(any_issuer_world),
        await create_social_game(any_issuer_world, is_public=True),
    )
    (await configure_issuer(client, issuer)).ok()
    (await configure_issuer(public_client, issuer)).ok()

    (await request_token(client, issuer.sign_token(), client_secret="wrong")).rejected(401, 530007)
    (await request_token(client, issuer.sign_token(), client_secret=None)).rejected(401, 530007)
    (await request_token(public_client, issuer.sign_token(), client_secret="wrong")).rejected(401, 530007)
    (await request_token(public_client, issuer.sign_token())).ok()
    (await request_token(client, issuer.sign_token(), client_id="1")).rejected(404, 10002)
    assert (await request_token(client, issuer.sign_token(), external_auth_type="WINGS")).errors(
        "external_auth_type"
    ) == ["BASE_TYPE_CHOICES"]
    assert (await request_token(client, "x" * 10_241)).errors("external_auth_token") == ["BASE_TYPE_BAD_LENGTH"]
    response = await request_token(client, "x", external_auth_type="PLATFORM_BOT_ISSUED_ACCESS_TOKEN")
    assert response.errors("external_auth_type") == ["BASE_TYPE_CHOICES"]
    (await request_token(client, "00", external_auth_type="STEAM_SESSION_TICKET")).rejected(400, 530008)
    client_without_social_layer = await create_social_game(any_issuer_world, flags=0)
    (await request_token(client_without_social_layer, issuer.sign_token())).rejected(403, 530000)


async def test_only_a_confidential_client_gets_a_refresh_token(any_issuer_world: World, issuer: Issuer) -> None:
    client, public_client = (
        await create_social_game(any_issuer_world),
        await create_social_game(any_issuer_world, is_public=True),
    )
    (await configure_issuer(client, issuer)).ok()
    (await configure_issuer(public_client, issuer)).ok()

    tokens = (await request_token(client, issuer.sign_token())).ok()
    assert (await request_token(public_client, issuer.sign_token())).ok()["refresh_token"] is None

    refreshed_tokens = (await client.refresh(tokens["refresh_token"])).ok()
    assert (refreshed_tokens["scope"], tokens["scope"]) == ("openid sdk.social_layer",) * 2
    # A refresh that requests the scope of the last response does not reduce the permissions.
    refreshed_tokens = (await client.refresh(refreshed_tokens["refresh_token"], scope=refreshed_tokens["scope"])).ok()
    assert refreshed_tokens["scope"] == tokens["scope"]
    player = await create_bearer(client, refreshed_tokens["access_token"])
    assert player.id
    assert (await player.patch("/users/@me/account", json={"global_name": "Still"})).ok()["global_name"] == "Still"


async def test_a_merged_account_cannot_be_refreshed(any_issuer_world: World, issuer: Issuer) -> None:
    client, alice = await create_social_game(any_issuer_world), await any_issuer_world.user()
    (await configure_issuer(client, issuer)).ok()
    tokens = (await request_token(client, issuer.sign_token())).ok()

    await link_account(client, alice, issuer.sign_token(), "OIDC")

    description = assert_oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant")
    assert description == 'Invalid "refresh_token" in request'


async def test_an_identity_without_an_account_is_linked_directly(any_issuer_world: World, issuer: Issuer) -> None:
    client, alice = await create_social_game(any_issuer_world), await any_issuer_world.user()
    (await configure_issuer(client, issuer)).ok()

    await link_account(client, alice, issuer.sign_token("ada"), "OIDC")

    error = (await request_token(client, issuer.sign_token("ada"))).rejected(400, 530010)
    assert (error["user_id"], error["provider_type"]) == (str(alice.id), "OIDC")
    assert (error["provider_id"], error["provider_issued_user_id"]) == (issuer.url, "ada")
    await link_account(client, alice, issuer.sign_token("ada"), "OIDC")
    bob = await any_issuer_world.user()
    code = await client.request_code(bob, "sdk.social_layer")
    credential = {"external_auth_type": "OIDC", "external_auth_token": issuer.sign_token("ada")}
    (await client.exchange(code, **credential)).rejected(400, 530014)
    (await client.exchange(code, external_auth_type="OIDC", external_auth_token="x.y.z")).rejected(403, 50025)


async def test_a_linked_account_is_unmerged_with_its_credential(any_issuer_world: World, issuer: Issuer) -> None:
    client, alice = await create_social_game(any_issuer_world), await any_issuer_world.user()
    (await configure_issuer(client, issuer)).ok()
    tokens = await request_link_tokens(client, alice, issuer.sign_token("ada"), "OIDC")

    (await request_unmerge(client, issuer.sign_token("ada"))).ok()

    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    assert_oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant")
    player = await create_bearer(client, (await request_token(client, issuer.sign_token("ada"))).ok()["access_token"])
    assert player.id != alice.id
    (await request_unmerge(client, issuer.sign_token("ada"))).rejected(400, 50229)
    (await request_unmerge(client, issuer.sign_token("unknown"))).rejected(404, 10013)


# Keys


async def test_unknown_keys_refresh_the_key_set_at_a_limited_rate(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    (await request_token(client, issuer.sign_token())).ok()
    issuer.requested_paths.clear()
    from joserfc.jwk import ECKey

    issuer.keys["two"] = ECKey.generate_key("P-256", parameters={"kid": "two"})
    (await request_token(client, issuer.sign_token(key="two"))).rejected(400, 530020)
    assert issuer.requested_paths == []
    any_issuer_world.clock.set(any_issuer_world.clock.now_ms() + outbound_cache.REFRESH_MIN_MS)
    (await request_token(client, issuer.sign_token(key="two"))).ok()
    assert issuer.requested_paths == ["/jwks"]
    for _ in range(5):
        (await request_token(client, issuer.sign_token(header={"kid": "three"}))).rejected(400, 530020)
    assert issuer.requested_paths == ["/jwks"]


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "PS384"])
async def test_rsa_signatures_are_accepted(any_issuer_world: World, issuer: Issuer, algorithm: str) -> None:
    client = await create_social_game(any_issuer_world)
    issuer.add_rsa_key("rsa")
    issuer.discovery_overrides = {"id_token_signing_alg_values_supported": [algorithm]}
    (await configure_issuer(client, issuer)).ok()

    (await request_token(client, issuer.sign_token(key="rsa", alg=algorithm))).ok()


async def test_unreadable_keys_are_skipped(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    valid_key = issuer.keys["one"].as_dict(private=False)
    invalid_keys = [
        {"kty": "EC", "kid": "x", "crv": "P-256", "x": "!", "y": "!"},
        {"kty": "oct", "kid": "one", "k": "AAAA"},
        7,
    ]
    issuer.raw_bodies["/jwks"] = json.dumps({"keys": [*invalid_keys, valid_key]}).encode()
    (await configure_issuer(client, issuer)).ok()

    (await request_token(client, issuer.sign_token())).ok()


# Deeply nested or malformed JSON

DEEPLY_NESTED_JSON = b'{"keys": [], "more": ' + b"[" * 5000 + b"]" * 5000 + b"}"


async def test_a_deeply_nested_discovery_document_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    issuer.raw_bodies["/.well-known/openid-configuration"] = DEEPLY_NESTED_JSON

    (await configure_issuer(await create_social_game(any_issuer_world), issuer)).rejected(400, 530008)


async def test_a_deeply_nested_key_set_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    issuer.raw_bodies["/jwks"] = DEEPLY_NESTED_JSON

    (await configure_issuer(await create_social_game(any_issuer_world), issuer)).rejected(400, 530009)


async def test_a_deeply_nested_id_token_is_rejected(any_issuer_world: World, issuer: Issuer) -> None:
    client = await create_social_game(any_issuer_world)
    (await configure_issuer(client, issuer)).ok()
    nested_part = base64.urlsafe_b64encode(b'{"a":' + b"[" * 1500 + b"]" * 1500 + b"}").decode().rstrip("=")
    header, claims, signature = issuer.sign_token().split(".")

    for token in (f"{nested_part}.{claims}.{signature}", f"{header}.{nested_part}.{signature}"):
        (await request_token(client, token)).rejected(400, 530020)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("auth_type", "credential", "body", "status", "code"),
    [
        ("STEAM_SESSION_TICKET", "00", DEEPLY_NESTED_JSON, 400, 530008),
        ("STEAM_SESSION_TICKET", "00", b'{"response": [1]}', 403, 50025),
        ("STEAM_SESSION_TICKET", "00", b'{"response": {"params": null}}', 403, 50025),
        ("EPIC_ONLINE_SERVICES_ACCESS_TOKEN", "x", DEEPLY_NESTED_JSON, 400, 530008),
        (
            "EPIC_ONLINE_SERVICES_ACCESS_TOKEN",
            "x",
            b'{"active": true, "account_id": "1", "client_id": ["game"]}',
            400,
            530003,
        ),
    ],
)
async def test_a_malformed_provider_response_is_rejected(
    any_issuer_world: World, issuer: Issuer, auth_type: str, credential: str, body: bytes, status: int, code: int
) -> None:
    import msgspec

    world = any_issuer_world
    client = await create_social_game(world)
    identity = msgspec.structs.replace(world.app.config.identity, steam_url=issuer.url, epic_url=issuer.url)
    assert world.app._http_server is not None
    world.app.config = world.app._http_server._config = msgspec.structs.replace(world.app.config, identity=identity)
    issuer.raw_bodies["/ISteamUserAuth/AuthenticateUserTicket/v1/"] = issuer.raw_bodies["/epic/oauth/v2/tokenInfo"] = (
        body
    )
    provider = "STEAM" if auth_type.startswith("STEAM") else "EPIC_ONLINE_SERVICES"
    (await client.owner.put(configuration_path(client, provider), json={"clients": [{"id": "game"}]})).ok()

    (await request_token(client, credential, auth_type)).rejected(status, code)


# Emulated providers of a rehearsal

PROVIDER_CASES = [
    ("oidc", "id_token", "OIDC"),
    ("steam", "id_token", "STEAM"),
    ("epic", "id_token", "EPIC_ONLINE_SERVICES"),
    ("epic", "access_token", "EPIC_ONLINE_SERVICES"),
    ("unity", "id_token", "UNITY"),
    ("apple", "id_token", "APPLE"),
    ("playstation", "id_token", "PLAYSTATION_NETWORK"),
]


@pytest.mark.parametrize(("provider", "kind", "provider_type"), PROVIDER_CASES)
async def test_every_provider_can_be_rehearsed_offline(
    demo_rehearsal: DemoRehearsal, provider: str, kind: str, provider_type: str
) -> None:
    client, bob = demo_rehearsal.demo_game, demo_rehearsal.demo_user("bob")

    auth_type, credential = await demo_rehearsal.issue_credential(provider, "76561198000000001", name="Ada", kind=kind)
    tokens = (await request_token(client, credential, auth_type)).ok()

    player = await create_bearer(client, tokens["access_token"])
    assert (await player.get("/users/@me")).ok()["global_name"] == "Ada"
    verifier, challenge = create_pkce_pair()
    code = await client.request_code(bob, "sdk.social_layer", code_challenge=challenge, code_challenge_method="S256")
    response = await client.exchange(
        code, code_verifier=verifier, external_auth_type=auth_type, external_auth_token=credential
    )
    response.ok()
    error = (await request_token(client, credential, auth_type)).rejected(400, 530010)
    assert (error["provider_type"], error["provider_issued_user_id"]) == (provider_type, "76561198000000001")


@pytest.mark.parametrize(("provider", "kind", "_"), PROVIDER_CASES)
async def test_expired_and_foreign_credentials_are_rejected(
    demo_rehearsal: DemoRehearsal, provider: str, kind: str, _: str
) -> None:
    is_opaque = provider == "steam" or kind == "access_token"

    auth_type, expired_credential = await demo_rehearsal.issue_credential(provider, "1", kind=kind, expires_in=-1)
    _, foreign_credential = await demo_rehearsal.issue_credential(provider, "1", kind=kind, client_id="another-game")

    response = await request_token(demo_rehearsal.demo_game, expired_credential, auth_type)
    assert (response.status, response.code) == ((403, 50025) if is_opaque else (400, 530001))
    response = await request_token(demo_rehearsal.demo_game, foreign_credential, auth_type)
    assert (response.status, response.code) == ((403, 50025) if provider == "steam" else (400, 530003))


async def test_a_credential_of_another_provider_is_rejected(demo_rehearsal: DemoRehearsal) -> None:
    _, apple_credential = await demo_rehearsal.issue_credential("apple", "1")

    for auth_type in (
        "OIDC",
        "UNITY_SERVICES_ID_TOKEN",
        "PLAYSTATION_NETWORK_ID_TOKEN",
        "EPIC_ONLINE_SERVICES_ID_TOKEN",
    ):
        (await request_token(demo_rehearsal.demo_game, apple_credential, auth_type)).rejected(400, 530002)
    (await request_token(demo_rehearsal.demo_game, apple_credential, "STEAM_SESSION_TICKET")).rejected(403, 50025)
    (await request_token(demo_rehearsal.demo_game, apple_credential, "EPIC_ONLINE_SERVICES_ACCESS_TOKEN")).rejected(
        403, 50025
    )


async def test_keys_of_an_emulated_provider_can_be_rotated(demo_rehearsal: DemoRehearsal) -> None:
    auth_type, old_credential = await demo_rehearsal.issue_credential("unity", "1")
    (await request_token(demo_rehearsal.demo_game, old_credential, auth_type)).ok()

    (await demo_rehearsal.control_request("POST", "/issuers/unity/rotate")).ok()
    demo_rehearsal.clock.set(demo_rehearsal.clock.now_ms() + outbound_cache.REFRESH_MIN_MS)
    _, new_credential = await demo_rehearsal.issue_credential("unity", "1")

    (await request_token(demo_rehearsal.demo_game, new_credential, auth_type)).ok()
    (await request_token(demo_rehearsal.demo_game, old_credential, auth_type)).rejected(400, 530020)


async def test_an_emulated_provider_is_public_and_its_credentials_require_the_control_token(
    demo_rehearsal: DemoRehearsal,
) -> None:
    path = f"{demo_rehearsal.url}/control/issuers/oidc/tokens"

    (await demo_rehearsal.request("POST", path, json={"user_id": "1"})).rejected(401, 0)
    (await demo_rehearsal.control_request("POST", "/issuers/wings/tokens", json={"user_id": "1"})).rejected(404, 0)
    assert (await demo_rehearsal.control_request("POST", "/issuers/oidc/tokens", json={})).errors("user_id") == [
        "BASE_TYPE_REQUIRED"
    ]
    discovery = await demo_rehearsal.request(
        "GET", f"{demo_rehearsal.url}/control/issuers/oidc/.well-known/openid-configuration"
    )
    assert discovery.ok()["issuer"] == f"{demo_rehearsal.url}/control/issuers/oidc"
    assert (await demo_rehearsal.request("GET", f"{demo_rehearsal.url}/control/issuers/oidc/nothing")).status == 404
    jwks = (await demo_rehearsal.request("GET", f"{demo_rehearsal.url}/control/issuers/apple/auth/keys")).ok()
    assert "d" not in jwks["keys"][0]
    assert base64.urlsafe_b64decode(jwks["keys"][0]["x"] + "==")
