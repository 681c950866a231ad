"""SQL for the welcome_screens table, and for the guild_homes table with the new member guides."""

from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.resources import welcome_screens as wire
from hubbub.server.core.store import Tx

TABLES: Final = (
    "guild_homes",
    "welcome_screens",
)
"""Tables that only this slice writes."""


class WelcomeScreenRow(NamedTuple):
    """The welcome screen of a guild. The guild feature WELCOME_SCREEN_ENABLED, not the row, enables it."""

    guild_id: int
    description: str | None = None
    channels: str = "[]"
    """JSON list of `WelcomeChannel`."""

    @property
    def welcome_channels(self) -> list[wire.WelcomeChannel]:
        """The listed channels, decoded from `channels`. Some may have been deleted."""
        return codec.decode(self.channels, list[wire.WelcomeChannel])


def find(tx: Tx, guild_id: int) -> WelcomeScreenRow | None:
    """Return a guild's welcome screen, or None if it was never set."""
    return tx.find(
        WelcomeScreenRow, "SELECT guild_id, description, channels FROM welcome_screens WHERE guild_id = ?", guild_id
    )


def put(tx: Tx, row: WelcomeScreenRow) -> None:
    """Insert or update a welcome screen."""
    tx.run(
        "INSERT INTO welcome_screens (guild_id, description, channels) VALUES (?, ?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET description = excluded.description, channels = excluded.channels",
        *row,
    )


def find_guide(tx: Tx, guild_id: int) -> str | None:
    """Return a guild's new member guide as JSON, or None."""
    guide_json: str | None = tx.value("SELECT settings FROM guild_homes WHERE guild_id = ?", guild_id)
    return guide_json


def put_guide(tx: Tx, guild_id: int, guide_json: str) -> None:
    """Insert or update a guild's new member guide."""
    tx.run(
        "INSERT INTO guild_homes (guild_id, settings) VALUES (?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET settings = excluded.settings",
        guild_id,
        guide_json,
    )


def delete_guild_screen(tx: Tx, guild_id: int) -> None:
    """Delete the welcome screen and the guide of a guild."""
    tx.run("DELETE FROM welcome_screens WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM guild_homes WHERE guild_id = ?", guild_id)
