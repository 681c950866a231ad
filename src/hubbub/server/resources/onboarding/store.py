"""Rows of onboarding."""

from collections.abc import Sequence
from typing import NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ChannelId, Snowflake
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.store import Tx, places


class OnboardingRow(NamedTuple):
    """A guild's onboarding as we keep it."""

    guild_id: int
    enabled: int = 0
    mode: int = 0
    default_channel_ids: str = "[]"
    """A JSON list of ids."""
    prompts: str = "[]"
    """A list of `OnboardingPrompt` as JSON."""

    @property
    def channels(self) -> list[ChannelId]:
        """The channels that everybody begins with; some may be gone."""
        return json.decode(self.default_channel_ids, list[ChannelId])

    @property
    def questions(self) -> list[wire.OnboardingPrompt]:
        """What is asked."""
        return json.decode(self.prompts, list[wire.OnboardingPrompt])


COLUMNS = ", ".join(OnboardingRow._fields)


def find(tx: Tx, guild_id: int) -> OnboardingRow | None:
    """A guild's onboarding, or None when it never had one."""
    return tx.find(OnboardingRow, f"SELECT {COLUMNS} FROM onboardings WHERE guild_id = ?", guild_id)


def put(tx: Tx, row: OnboardingRow) -> None:
    """Keep a guild's onboarding."""
    assignments = ", ".join(f"{field} = excluded.{field}" for field in OnboardingRow._fields[1:])
    tx.run(
        f"INSERT INTO onboardings ({COLUMNS}) VALUES ({places(row)}) ON CONFLICT (guild_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Forget it, with its guild."""
    tx.run("DELETE FROM onboardings WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM onboarding_answers WHERE guild_id = ?", guild_id)


def find_answers(tx: Tx, guild_id: int, user_id: int) -> list[Snowflake]:
    """The options that a member chose; some may be gone."""
    sql = "SELECT option_ids FROM onboarding_answers WHERE guild_id = ? AND user_id = ?"
    kept = tx.value(sql, guild_id, user_id)
    return [] if kept is None else json.decode(kept, list[Snowflake])


def list_answers(tx: Tx, user_id: int) -> list[tuple[int, list[Snowflake]]]:
    """What a person chose in each guild."""
    rows = tx.all("SELECT guild_id, option_ids FROM onboarding_answers WHERE user_id = ? ORDER BY guild_id", user_id)
    return [(guild_id, json.decode(kept, list[Snowflake])) for guild_id, kept in rows]


def put_answers(tx: Tx, guild_id: int, user_id: int, option_ids: Sequence[Snowflake]) -> None:
    """Keep what a member chose."""
    tx.run(
        "INSERT INTO onboarding_answers (guild_id, user_id, option_ids) VALUES (?, ?, ?) "
        "ON CONFLICT (guild_id, user_id) DO UPDATE SET option_ids = excluded.option_ids",
        guild_id,
        user_id,
        json.encode(list(option_ids)).decode(),
    )


def delete_answers(tx: Tx, guild_id: int, user_id: int) -> None:
    """Forget what a member chose."""
    tx.run("DELETE FROM onboarding_answers WHERE guild_id = ? AND user_id = ?", guild_id, user_id)
