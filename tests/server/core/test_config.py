"""Configuration: precedence of sources, and error messages."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hubbub.server.core import config
from hubbub.server.core.config import Config, ConfigError, load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a configuration file that does not exist yet."""
    return tmp_path / "hubbub.toml"


def test_without_sources_every_setting_has_its_default() -> None:
    loaded_config = load()
    assert loaded_config == Config()
    assert (loaded_config.host, loaded_config.port, loaded_config.rate_limits) == ("127.0.0.1", 8080, "real")
    assert loaded_config.roles == {"api", "gateway", "voice", "worker"}
    assert loaded_config.gateway.heartbeat_interval_ms == 41_250
    assert loaded_config.gateway.frame_bytes_max == 15 * 1024
    assert (loaded_config.gateway.replay_events_max, loaded_config.gateway.replay_ms) == (10_000, 300_000)
    assert loaded_config.gateway.outgoing_buffer_bytes_max == 10 * 1024 * 1024


def test_flags_override_environment_file_and_defaults_in_this_order(file: Path) -> None:
    file.write_text('host = "file"\nport = 1\n[log]\nlevel = "error"\n[gateway]\nheartbeat_interval_ms = 1000\n')
    loaded_config = load(
        {"port": 3, "seed": None},
        environ={"HUBBUB_PORT": "2", "HUBBUB_LOG_LEVEL": "debug", "HUBBUB_SEED": "7", "PATH": "/bin"},
        file=file,
        defaults={"host": "default", "control": True},
    )
    assert (loaded_config.host, loaded_config.port, loaded_config.log.level, loaded_config.seed) == (
        "file",
        3,
        "debug",
        7,
    )
    assert loaded_config.gateway.heartbeat_interval_ms == 1000
    assert loaded_config.control is True


def test_the_environment_can_name_the_file(file: Path) -> None:
    file.write_text("port = 99\n")
    assert load(environ={"HUBBUB_CONFIG": str(file)}).port == 99


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("control", "on", True),
        ("control", "0", False),
        ("port", " 0 ", 0),
        ("roles", "api, gateway", frozenset({"api", "gateway"})),
        ("publisher_connection_types", "steam, xbox", frozenset({"steam", "xbox"})),
        ("publisher_connection_types", "", frozenset()),
        ("now", "2026-12-01T00:00:00Z", datetime(2026, 12, 1, tzinfo=UTC)),
        ("public_url", "https://chat.example", "https://chat.example"),
        ("nats_url", "nats://a:4222,nats://b:4222", "nats://a:4222,nats://b:4222"),
        ("database_url", "postgresql:///hubbub?host=/run/postgresql", "postgresql:///hubbub?host=/run/postgresql"),
    ],
)
def test_text_from_flags_and_environment_is_converted(name: str, text: str, value: object) -> None:
    assert getattr(load({name: text}), name) == value
    assert getattr(load(environ={f"HUBBUB_{name.upper()}": text}), name) == value


def test_every_key_has_a_variable_a_flag_and_a_description() -> None:
    for key in config.KEYS:
        assert config._KEYS_BY_VARIABLE["HUBBUB_" + key.upper().replace(".", "_")] == key
        assert config._require_key(key.replace(".", "-").replace("_", "-"), "flag") == key
        assert config.describe_allowed(key)


def test_word_lists_are_arrays_or_comma_separated(file: Path) -> None:
    file.write_text('[auto_moderation]\nslurs = ["one", "two words*"]\n')
    loaded_config = load({"auto_moderation.profanity": "*drat*, fie"}, file=file)
    assert loaded_config.auto_moderation.slurs == ("one", "two words*")
    assert loaded_config.auto_moderation.profanity == ("*drat*", "fie")


def test_the_start_time_is_available_in_milliseconds() -> None:
    assert load({"now": "2026-12-01T00:00:00Z"}).now_ms == 1_796_083_200_000
    assert load().now_ms is None


@pytest.mark.parametrize(
    ("flags", "environ", "toml", "expected"),
    [
        (
            {"port": "high"},
            {},
            "",
            "port (flag --port): 'high' is not allowed; allowed: a whole number from 0 to 65535",
        ),
        ({}, {"HUBBUB_PORT": "99999"}, "", "port (environment HUBBUB_PORT): '99999' is not allowed"),
        ({"rate_limits": "maybe"}, {}, "", "allowed: one of off, real, report"),
        ({"roles": "api,cook"}, {}, "", "allowed: one or more of api, gateway, voice, worker"),
        ({"roles": ""}, {}, "", "roles (flag --roles)"),
        ({"now": "yesterday"}, {}, "", "allowed: a time such as 2026-12-01T00:00:00Z"),
        ({"now": "2150-01-01T00:00:00Z"}, {}, "", "now (flag --now): '2150-01-01T00:00:00Z' is not allowed"),
        ({"files_url": "ftp://x/y"}, {}, "", "allowed: a folder, file://..., memory:// or s3://bucket/prefix?..."),
        ({"control_token": "short"}, {}, "", "the given value is not allowed; allowed: text of 16 characters or more"),
        ({"public_url": "chat.example"}, {}, "", "allowed: a URL that starts with http:// or https://"),
        ({"gateway.resume_url": "https://one.example"}, {}, "", "allowed: a URL that starts with ws:// or wss://"),
        ({"database_url": "mysql://x"}, {}, "", "allowed: a URL that starts with postgresql:// or postgres://"),
        ({}, {"HUBBUB_CONTROL": "perhaps"}, "", "allowed: true or false"),
        ({}, {}, "port = '80'", "port (file "),
        ({}, {}, "[gateway]\nheartbeat_interval_ms = 1", "gateway.heartbeat_interval_ms (file "),
        ({"bus.prefix": "a.b"}, {}, "", "bus.prefix (flag --bus-prefix)"),
        ({"prot": 1}, {}, "", "prot (flag --prot): no such setting; did you mean port?"),
        ({}, {"HUBBUB_DATABSE_URL": "x"}, "", "did you mean HUBBUB_DATABASE_URL?"),
        ({}, {}, "[gateway]\nheartbeat_interval = 5", "did you mean gateway.heartbeat_interval_ms?"),
        ({}, {}, "zzz = 5", "zzz (file"),
        ({}, {}, "gateway = 5", "gateway (file"),
        ({}, {}, "[auto_moderation]\nslurs = ['**']", "auto_moderation.slurs (file "),
        ({}, {}, "[auto_moderation]\nslurs = ['']", "allowed: keywords of up to 60 characters, not only asterisks"),
        ({}, {"HUBBUB_AUTO_MODERATION_PROFANITY": "x" * 61}, "", "auto_moderation.profanity (environment "),
        ({}, {}, "[auto_moderation]\nslur = ['x']", "did you mean auto_moderation.slurs?"),
        ({}, {}, "port = ", "is not TOML"),
    ],
)
def test_an_error_names_the_key_the_source_and_the_allowed_values(
    flags: dict[str, Any], environ: dict[str, str], toml: str, expected: str, file: Path
) -> None:
    file.write_text(toml)
    with pytest.raises(ConfigError) as caught:
        load(flags, environ=environ, file=file)
    assert expected in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(file=tmp_path / "none.toml")


def test_an_error_never_contains_a_password() -> None:
    with pytest.raises(ConfigError) as caught:
        load({"database_url": "mysql://me:hunter2hunter2@db/x"})
    assert "hunter2" not in str(caught.value)


def test_variables_of_the_agent_are_ignored() -> None:
    environ = {"HUBBUB_AGENT_TOKEN": "secret", "HUBBUB_AGENT_URL": "http://one.example", "HUBBUB_AGENT_IPC_INDEX": "2"}
    assert load(environ=environ) == Config()


def test_kubernetes_service_variables_are_ignored() -> None:
    environ = {
        "HUBBUB_SERVICE_HOST": "10.0.0.1",
        "HUBBUB_SERVICE_PORT": "8080",
        "HUBBUB_SERVICE_PORT_HTTP": "8080",
        "HUBBUB_PORT": "tcp://10.0.0.1:8080",
        "HUBBUB_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "HUBBUB_PORT_8080_TCP_ADDR": "10.0.0.1",
    }
    assert load(environ=environ) == Config()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mail.sender": "chat@example.org"}, "mail.host (flag --mail-sender): is required with mail.sender"),
        ({"mail.host": "smtp.example.org"}, "mail.sender (flag --mail-host): is required with mail.host"),
        ({"mail.host": "smtp.example.org", "mail.sender": "chat"}, "mail.sender (flag --mail-sender): 'chat'"),
        (
            {"mail.host": "smtp.example.org", "mail.sender": "a@example.org", "mail.username": "chat"},
            "mail.password (flag --mail-username): is required with mail.username",
        ),
        (
            {
                "mail.host": "smtp.example.org",
                "mail.sender": "a@example.org",
                "mail.username": "chat",
                "mail.password": "hunter2",
                "mail.security": "none",
            },
            "mail.security (flag --mail-security): none would send the password to smtp.example.org unencrypted",
        ),
        (
            {"mail.security": "ssl"},
            "mail.security (flag --mail-security): 'ssl' is not allowed; allowed: one of none, starttls",
        ),
    ],
)
def test_invalid_or_incomplete_mail_settings_name_the_setting_and_the_fix(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(settings)

    assert message in str(error.value)
    assert "hunter2" not in str(error.value)


def test_mail_host_enables_mail_and_security_selects_the_default_port() -> None:
    common = {"mail.host": "smtp.example.org", "mail.sender": "Chat <a@example.org>"}

    assert [load(common | {"mail.security": name}).mail.server_port for name in ("starttls", "tls", "none")] == [
        587,
        465,
        25,
    ]
    assert load(common | {"mail.port": "2525"}).mail.server_port == 2525
    assert load(common).mail.is_enabled
    assert not load().mail.is_enabled


LOGIN_PROVIDER = """
[[login.providers]]
id = "work"
name = "Work"
issuer = "https://id.example.org/realms/work"
client_id = "hubbub"
"""


def test_login_providers_are_read_from_the_file_and_their_secrets_from_other_files(file: Path, tmp_path: Path) -> None:
    secret_file = tmp_path / "secret"
    secret_file.write_text("hidden value\n")
    file.write_text(f'{LOGIN_PROVIDER}client_secret_file = "{secret_file}"\nallowed_email_domains = ["example.org"]\n')

    [provider] = load(file=file).login.providers

    assert (provider.id, provider.client_secret) == ("work", "hidden value")
    assert provider.scopes == ("openid", "profile", "email")
    assert (provider.auto_register, provider.trust_email, provider.second_factor_methods) == (False, False, ())


def test_login_providers_are_a_json_list_in_the_environment() -> None:
    json_list = '[{"id": "work", "name": "Work", "issuer": "https://id.example.org", "client_id": "hubbub", "client_secret": "x"}]'

    [provider] = load(environ={"HUBBUB_LOGIN_PROVIDERS": json_list}).login.providers

    assert (provider.issuer, provider.client_secret) == ("https://id.example.org", "x")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('issuers = "x"', "unknown field `issuers`"),
        ("auto_register = 1", "Expected `bool`, got `int`"),
        ('scopes = ["profile"]', "scopes must contain openid"),
        (
            'client_secret = "hidden value"\nclient_secret_file = "x"',
            "set client_secret or client_secret_file, not both",
        ),
        ('client_secret_file = "/does/not/exist"', "client_secret_file cannot be read"),
        (LOGIN_PROVIDER, "two providers have the id work"),
        ('allowed_email_domains = ["@example.org"]', "allowed_email_domains"),
    ],
)
def test_invalid_login_providers_are_reported_without_their_secrets(file: Path, lines: str, problem: str) -> None:
    file.write_text(f"{LOGIN_PROVIDER}{lines}\n")

    with pytest.raises(ConfigError) as caught:
        load(file=file)

    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"login.providers (file {file}): ")
    assert "hidden value" not in str(caught.value)


@pytest.mark.parametrize("issuer", ["id.example.org", "ftp://id.example.org", "https://id.example.org?x=1", "https://"])
def test_the_issuer_of_a_login_provider_is_a_url(file: Path, issuer: str) -> None:
    file.write_text(LOGIN_PROVIDER.replace("https://id.example.org/realms/work", issuer))

    with pytest.raises(ConfigError, match="issuer must be a URL"):
        load(file=file)
