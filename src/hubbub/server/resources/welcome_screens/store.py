"""Rows of welcome screens and of guides for new members."""

from typing import NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.resources import welcome_screens as wire
from hubbub.server.core.store import Tx


class WelcomeScreenRow(NamedTuple):
    """A welcome screen as we keep it; whether it is shown is a feature of the guild."""

    guild_id: int
    description: str | None = None
    channels: str = "[]"
    """A list of `WelcomeChannel` as JSON."""

    @property
    def welcome_channels(self) -> list[wire.WelcomeChannel]:
        """The channels it points to; some may be gone."""
        return json.decode(self.channels, list[wire.WelcomeChannel])


def find(tx: Tx, guild_id: int) -> WelcomeScreenRow | None:
    """A guild's welcome screen, or None when it never had one."""
    return tx.find(
        WelcomeScreenRow, "SELECT guild_id, description, channels FROM welcome_screens WHERE guild_id = ?", guild_id
    )


def put(tx: Tx, row: WelcomeScreenRow) -> None:
    """Keep a welcome screen."""
    tx.run(
        "INSERT INTO welcome_screens (guild_id, description, channels) VALUES (?, ?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET description = excluded.description, channels = excluded.channels",
        *row,
    )


def find_home(tx: Tx, guild_id: int) -> str | None:
    """The guide for new members, as JSON, or None."""
    settings: str | None = tx.value("SELECT settings FROM guild_homes WHERE guild_id = ?", guild_id)
    return settings


def put_home(tx: Tx, guild_id: int, settings: str) -> None:
    """Keep the guide for new members."""
    tx.run(
        "INSERT INTO guild_homes (guild_id, settings) VALUES (?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET settings = excluded.settings",
        guild_id,
        settings,
    )


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Forget both, with their guild."""
    tx.run("DELETE FROM welcome_screens WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM guild_homes WHERE guild_id = ?", guild_id)
