"""Token of the agent: read from a file or the environment, or obtained by a login and stored in a private file."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
from msgspec import UNSET

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.accounts import (
    AUTH_LOGIN,
    AUTH_LOGIN_WITH_TOTP,
    Login,
    LoginResult,
    LoginWithCode,
    SessionToken,
)
from hubbub.sdk.api import Api

TOKEN_VARIABLE: Final = "HUBBUB_AGENT_TOKEN"
PRIVATE_FILE_MODE: Final = 0o600


class SettingError(Exception):
    """Raised for an invalid or missing setting, an unsupported system or a failed login; `key` names the setting or the step."""

    def __init__(self, key: str, problem: str) -> None:
        self.key = key
        super().__init__(f"{key}: {problem}")


def token_store_path(environ: Mapping[str, str]) -> Path:
    """Return the path of the file with the stored tokens."""
    config_home = environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config_home) / "hubbub" / "agent.json"


def read_provided_token(token_file: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the token from the token file or the environment, or None.

    Raise SettingError if it is invalid, or if the file cannot be read or other users can read it."""
    if token_file is not None:
        path = Path(token_file)
        try:
            _require_private(path, "token_file")
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError("token_file", f"cannot read {path}: {error}") from None
        if not token or any(character.isspace() for character in token):
            raise SettingError("token_file", f"{path} must contain exactly one token")
        return token
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if any(character.isspace() for character in token):
        raise SettingError(TOKEN_VARIABLE, "must contain exactly one token")
    return token or None


def _require_private(path: Path, key: str) -> None:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise SettingError(key, f"{path} can be read by other users. Run: chmod 600 {path}")


def load_token(url: str, path: Path) -> str | None:
    """Return the stored token of the platform at `url`, or None.

    Raise SettingError if the file is invalid, or if other users can read it."""
    return _read_tokens(path).get(url)


def store_token(url: str, token: str | None, path: Path) -> None:
    """Store the token of the platform at `url`, or delete it if `token` is None.

    Raise SettingError if the existing file is invalid, or if other users can read it."""
    tokens = {key: value for key, value in _read_tokens(path).items() if key != url}
    if token is not None:
        tokens[url] = token
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary_path = path.with_name(f"{path.name}.{os.getpid()}")
    # Create the file with restricted permissions, and replace the old one atomically.
    with os.fdopen(
        os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE_MODE), "w", encoding="utf-8"
    ) as file:
        json.dump(tokens, file)
    os.replace(temporary_path, path)


def _read_tokens(path: Path) -> dict[str, str]:
    try:
        _require_private(path, "token")
        tokens: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingError("token", f"cannot read {path}: {error}") from None
    return {key: value for key, value in tokens.items() if isinstance(value, str)} if isinstance(tokens, dict) else {}


async def sign_in(url: str, ask: Callable[[str], str], ask_password: Callable[[str], str]) -> str:
    """Sign in with username and password, and with an authenticator code if needed; return the token.

    `ask` and `ask_password` show a prompt and return the user's input; `ask_password` does not echo it.
    Raise SettingError if the platform rejects the login or cannot be reached."""
    login = ask("Username or email: ")
    async with Api(url) as api:
        try:
            body = Login(login=login, password=ask_password("Password: "))
            response: LoginResult | SessionToken = await api.call(AUTH_LOGIN, body=body)
            if isinstance(response, LoginResult) and response.ticket is not UNSET:
                totp_body = LoginWithCode(ticket=response.ticket, code=ask("Authenticator code: "))
                response = await api.call(AUTH_LOGIN_WITH_TOTP, body=totp_body)
        except ApiError as error:
            raise SettingError("login", f"the platform rejected the login: {error}") from None
        except (aiohttp.ClientError, OSError) as error:
            raise SettingError("url", f"cannot reach {url}: {error}") from None
    return str(response.token)
