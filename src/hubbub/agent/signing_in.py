"""Whose agent this is: a token from a file or the environment, or a name and a password; kept where only the person reads it."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp

from hubbub.protocol.errors import ApiError
from hubbub.sdk.api import Api

TOKEN_VARIABLE: Final = "HUBBUB_AGENT_TOKEN"
PRIVATE: Final = 0o600


class SettingError(Exception):
    """A setting that cannot be used: which, and what is allowed."""

    def __init__(self, key: str, problem: str) -> None:
        self.key = key
        super().__init__(f"{key}: {problem}")


def kept_path(environ: Mapping[str, str]) -> Path:
    """Where tokens are kept, by platform."""
    home = environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "hubbub" / "agent.json"


def given(token_file: str | None, environ: Mapping[str, str]) -> str | None:
    """The token that was handed over, if one was."""
    if token_file is not None:
        path = Path(token_file)
        try:
            _require_private(path, "token_file")
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError("token_file", f"{path} cannot be read: {error}") from None
        if not token or any(character.isspace() for character in token):
            raise SettingError("token_file", f"{path} must hold one token and nothing else")
        return token
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if any(character.isspace() for character in token):
        raise SettingError(TOKEN_VARIABLE, "must be one token")
    return token or None


def _require_private(path: Path, key: str) -> None:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise SettingError(key, f"{path} can be read by others: chmod 600 it")


def recall(url: str, path: Path) -> str | None:
    """The token of an earlier sign-in at this platform."""
    return _read(path).get(url)


def keep(url: str, token: str | None, path: Path) -> None:
    """Remember a token, or forget it."""
    tokens = {key: value for key, value in _read(path).items() if key != url}
    if token is not None:
        tokens[url] = token
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    # Nobody else reads it, not even for a moment; and whoever reads it finds the whole of it.
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w", encoding="utf-8") as file:
        json.dump(tokens, file)
    os.replace(fresh, path)


def _read(path: Path) -> dict[str, str]:
    try:
        _require_private(path, "token")
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingError("token", f"{path} cannot be read: {error}") from None
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


async def sign_in(url: str, ask: Callable[[str], str], ask_secretly: Callable[[str], str]) -> str:
    """A token for a name and a password, and a code where the person has an authenticator."""
    login = ask("Name or email: ")
    async with Api(url) as api:
        try:
            told = json.loads(
                await api.request("POST", "/auth/login", json={"login": login, "password": ask_secretly("Password: ")})
            )
            if told.get("mfa"):
                sent = {"ticket": told["ticket"], "code": ask("Code of your authenticator: ")}
                told = json.loads(await api.request("POST", "/auth/mfa/totp", json=sent))
        except ApiError as error:
            raise SettingError("login", f"the platform refused it: {error}") from None
        except (aiohttp.ClientError, OSError) as error:
            raise SettingError("url", f"{url} cannot be reached: {error}") from None
    return str(told["token"])
