"""Logging: removal of secrets from every record, formats of lines, and levels."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from hubbub.server.core.logs import REMOVED, Logs, Secrets

USER_ID_PART = "MTE4NzY1NDMyMTA5ODc2NTQzMg"
BOT_TOKEN = f"{USER_ID_PART}.GxYz12.abcdefghijklmnopqrstuvwxyz-0123456789AB"
SECRET = "s3cr3t-Value-77"

TEXTS_WITH_SECRETS = [
    f"Authorization: Bot {BOT_TOKEN}",
    f"authorization={SECRET}",
    f"headers <CIMultiDict('Authorization': '{SECRET}', 'Host': 'x')>",
    f"[(b'authorization', b'Bearer {SECRET}')]",
    f"logged in as Bot {BOT_TOKEN} fine",
    f"identify with {BOT_TOKEN}",
    f"Bearer {SECRET}",
    f"Basic {SECRET}==",
    f"POST /oauth2/token client_id=1&client_secret={SECRET}&grant_type=x",
    f'{{"op": 2, "d": {{"token": "{SECRET}", "intents": 1}}}}',
    f'{{"token":"{SECRET}"}}',
    f"{{'access_token': '{SECRET}', 'refresh_token': '{SECRET}'}}",
    rf'"{{\"token\": \"{SECRET}\"}}"',
    f'{{"token": "{SECRET} with spaces',
    f"Login(login='a', password='{SECRET}')",
    f"password: {SECRET}",
    f'{{"password": "a\\"{SECRET}"}}',
    f"https://example.org/api/webhooks/123456789012345678/{SECRET}abcdef?wait=true",
    f"/api/v10/interactions/123456789012345678/{SECRET}abcdef/callback",
    f"postgresql://hubbub:{SECRET}@db.example/hubbub",
    f"postgresql://hubbub:x@{SECRET}@db.example/hubbub",
    f"nats://{SECRET}@nats.example:4222",
    f"GET /callback?code={SECRET}abcdef&state=1",
    f"Cookie: a=b; session={SECRET}",
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----",
    f"host=x user=y password={SECRET} dbname=z",
    f"POST /oauth2/token grant_type=x&device_code={SECRET}&client_id=1",
    f'{{"device_code":"{SECRET}","user_code":"{SECRET}"}}',
    f"Device(device_code='{SECRET}', interval=5)",
    f'{{"ticket":"{SECRET}","mfa":true}}',
    f"LoginWithTotp(ticket='{SECRET}')",
    f"/ISteamUserAuth/AuthenticateUserTicket/v1/?ticket={SECRET}&appid=480",
    f'{{"grant_type":"authorization_code","code":"{SECRET}abcdef"}}',
    f"{{'code': '{SECRET}abcdef', 'redirect_uri': 'x'}}",
    f"Exchange(code='{SECRET}abcdef')",
    f"exchanged code: {SECRET}abcdef==",
    rf'"{{\"code\": \"{SECRET}abcdef\"}}"',
    f"{{'backup_codes': '{SECRET}'}}",
    f"client_assertion={SECRET}",
]

TEXTS_WITHOUT_SECRETS = [
    "Bot connected to the gateway",
    "guild.123 got MESSAGE_CREATE in hubbub.server.talk.messages",
    "request failed: code=50035 Invalid Form Body",
    "GET http://127.0.0.1:8080/api/v10/channels/123456789012345678/messages",
    "tokens are checked, secrets are hashed",
    "token_type is fine",
    '{"code": 50035, "errors": {"name": {"_errors": [{"code": "BASE_TYPE_REQUIRED", "message": "x"}]}}}',
    "{'code': 'APPLICATION_COMMAND_OPTIONS_NAME_INVALID', 'message': 'x'}",
    "close code: 4004, code=1000000000",
    '{"code": "q9QfZbnt", "type": 0, "guild": {"id": "123456789012345678"}}',
    "the ticket is expired, encode: utf-8",
]


@pytest.fixture
def stream() -> io.StringIO:
    """The stream that log lines are written to."""
    return io.StringIO()


@pytest.fixture(params=["json", "text"])
def logs(stream: io.StringIO, request: pytest.FixtureRequest) -> Iterator[Logs]:
    """Installed logging in each format, with the lowest level."""
    logs = Logs(level="debug", library_level="debug", format=request.param, stream=stream)
    logs.install()
    yield logs
    logs.remove()


@pytest.mark.parametrize("text", TEXTS_WITH_SECRETS)
def test_secrets_are_removed_from_text(text: str) -> None:
    cleaned_text = Secrets().clean(text)
    assert SECRET not in cleaned_text
    assert BOT_TOKEN not in cleaned_text
    assert USER_ID_PART not in cleaned_text
    assert REMOVED in cleaned_text


@pytest.mark.parametrize("text", TEXTS_WITHOUT_SECRETS)
def test_harmless_text_is_unchanged(text: str) -> None:
    assert Secrets().clean(text) == text


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL])
@pytest.mark.parametrize("name", ["hubbub.gateway", "aiohttp.access", "asyncio", "nats.aio.client", "psycopg.pool"])
def test_secrets_are_removed_at_every_level_from_every_logger(
    logs: Logs, stream: io.StringIO, level: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger(name)
    # Some libraries set a higher level on their own loggers.
    monkeypatch.setattr(logger, "level", level)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    for text in TEXTS_WITH_SECRETS:
        logger.log(level, text.replace("%", "%%"))
        logger.log(level, "as an argument: %s %r", text, {"d": text})
        logger.log(level, "as extra", extra={"text": text, "deep": {"list": [text], "token": SECRET}})
    logger.log(level, "named like a secret", extra={"password": SECRET, "client_secret": "x" * 9, "bot_token": 12345})
    logger.log(
        level, "a code", extra={"body": {"code": f"{SECRET}abcdef", "ticket": SECRET}, "code": f"{SECRET}abcdef"}
    )
    assert "as an argument" in stream.getvalue()
    assert SECRET not in stream.getvalue()
    assert BOT_TOKEN not in stream.getvalue()
    assert "12345\n" not in stream.getvalue()


def test_secrets_are_removed_from_exceptions_causes_and_stacks(logs: Logs, stream: io.StringIO) -> None:
    try:
        try:
            raise ValueError(f"cannot reach postgresql://me:{SECRET}@db")
        except ValueError as error:
            raise RuntimeError(f"Authorization: Bot {BOT_TOKEN}") from error
    except RuntimeError:
        logging.getLogger("hubbub").exception("failed", stack_info=True)
    assert "RuntimeError" in stream.getvalue()
    assert "cannot reach" in stream.getvalue()
    assert SECRET not in stream.getvalue()
    assert BOT_TOKEN not in stream.getvalue()


def test_registered_values_are_removed_in_every_encoding(logs: Logs, stream: io.StringIO) -> None:
    secret = 'pass "wörd"/&'
    logs.secrets.add(secret)
    logger = logging.getLogger("hubbub")
    logger.info("plain %s quoted %r json %s", secret, secret, json.dumps(secret))
    logger.info("url /x?y=pass%%20%%22w%%C3%%B6rd%%22%%2F%%26 end")
    logger.info("bytes", extra={"raw": secret.encode()})
    assert "wörd" not in stream.getvalue()
    assert "w\\u00f6rd" not in stream.getvalue()
    assert "w%C3%B6rd" not in stream.getvalue()
    logs.secrets.discard(secret)
    logger.info("wörd")
    assert "wörd" in stream.getvalue()


def test_authenticator_codes_are_removed_and_error_codes_stay() -> None:
    assert Secrets().clean('{"code": "123456"}') == f'{{"code": "{REMOVED}"}}'
    assert Secrets().clean_value({"code": "123456"}) == {"code": REMOVED}
    assert Secrets().clean_value({"code": 50035, "errors": {"code": "BASE_TYPE_REQUIRED"}}) == {
        "code": 50035,
        "errors": {"code": "BASE_TYPE_REQUIRED"},
    }


def test_values_too_short_to_be_secrets_are_not_removed() -> None:
    secrets = Secrets()
    secrets.add("")
    secrets.add("a")
    assert secrets.clean("a banana") == "a banana"


def test_a_record_that_cannot_be_formatted_is_reported_instead_of_raised(logs: Logs, stream: io.StringIO) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError(SECRET)

        __repr__ = __str__

    logger = logging.getLogger("hubbub")
    logger.info("wrong %d", "argument")
    logger.info("two %s", "args", "given")
    logger.info("argument %s", Broken())
    logger.info("extra", extra={"broken": Broken()})
    logger.info(Broken())
    loop: dict[str, object] = {}
    loop["loop"] = loop
    logger.info("loop", extra={"loop": loop})
    logger.info("surrogate \ud800", extra={"odd": "\ud800"})
    assert len(stream.getvalue().splitlines()) == 7
    assert "withheld" in stream.getvalue()
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize(
    ("part", "count", "cleaned_text"),
    [
        ("a", 500_000, "a" * 32_768),
        ("a-", 250_000, "a-" * 16_384),
        ("token:'", 50_000, ("token:'[removed]'" * 2_000)[:32_768]),
        ("Bot ", 100_000, "Bot " * 8_192),
        ("://", 100_000, ("://" * 10_923)[:32_768]),
        ("a.", 200_000, "a." * 16_384),
        ("code:", 100_000, ("code:" * 6_554)[:32_768]),
    ],
)
def test_long_repetitive_texts_are_cleaned(part: str, count: int, cleaned_text: str) -> None:
    # `make bench` measures that the time is linear in the length.
    assert Secrets().clean(part * count).removesuffix("... (cut)") == cleaned_text
    assert Secrets().clean("code=" + "A" * 500_000 + "b") == "code=[removed]"


def test_long_text_is_truncated_only_after_cleaning() -> None:
    text = "x " * (16 * 1024 - 20) + BOT_TOKEN + " y" * 100
    cleaned_text = Secrets().clean(text)
    assert USER_ID_PART not in cleaned_text
    assert cleaned_text.endswith("(cut)")


def test_a_json_line_contains_the_fields(stream: io.StringIO) -> None:
    logs = Logs(format="json", stream=stream)
    logs.install()
    try:
        logging.getLogger("hubbub.http").info("served %s", "GET", extra={"status": 200, "path": "/x y", "level": "odd"})
    finally:
        logs.remove()
    logged_fields = json.loads(stream.getvalue())
    assert logged_fields.pop("time").endswith("+00:00")
    assert logged_fields == {
        "level": "info", "logger": "hubbub.http", "message": "served GET", "status": 200, "path": "/x y", "level_": "odd",
    }  # fmt: skip


def test_a_text_line_is_one_line_with_quoted_values(stream: io.StringIO) -> None:
    logs = Logs(format="text", stream=stream)
    logs.install()
    try:
        logging.getLogger("hubbub").warning("two\nlines", extra={"path": "/x y", "status": 200})
    finally:
        logs.remove()
    assert stream.getvalue().endswith('WARNING hubbub two\\nlines path="/x y" status=200\n')


def test_levels_are_set_for_hubbub_and_libraries_and_restored(stream: io.StringIO) -> None:
    levels_before = (logging.getLogger().level, logging.getLogger("hubbub").level)
    logs = Logs(level="debug", library_level="error", format="text", stream=stream)
    logs.install()
    logging.getLogger("hubbub.x").debug("of hubbub")
    logging.getLogger("asyncio").warning("of a library")
    logs.remove()
    logging.getLogger("hubbub.x").error("after")
    assert "of hubbub" in stream.getvalue()
    assert "of a library" not in stream.getvalue()
    assert "after" not in stream.getvalue()
    assert (logging.getLogger().level, logging.getLogger("hubbub").level) == levels_before
