"""SQL for the onboardings table, and for the onboarding_answers table with the responses of members."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, Snowflake
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "onboarding_answers",
    "onboardings",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="onboarding_answers.user_id", erasure=Erasure.DELETED, export="onboarding_responses"),
)
"""Columns of these tables that contain IDs of users."""


class OnboardingRow(NamedTuple):
    """The onboarding of a guild: its mode, default channels and prompts."""

    guild_id: int
    enabled: int = 0
    mode: int = 0
    """Value of `OnboardingMode`."""
    default_channel_ids: str = "[]"
    """JSON list of channel IDs."""
    prompts: str = "[]"
    """JSON list of `OnboardingPrompt`."""

    @property
    def decoded_default_channel_ids(self) -> list[ChannelId]:
        """The default channel IDs, decoded from `default_channel_ids`. Some channels may have been deleted."""
        return codec.decode(self.default_channel_ids, list[ChannelId])

    @property
    def decoded_prompts(self) -> list[wire.OnboardingPrompt]:
        """The prompts, decoded from `prompts`."""
        return codec.decode(self.prompts, list[wire.OnboardingPrompt])


COLUMNS = ", ".join(OnboardingRow._fields)


def find(tx: Tx, guild_id: int) -> OnboardingRow | None:
    """Return a guild's onboarding, or None if it was never set."""
    return tx.find(OnboardingRow, f"SELECT {COLUMNS} FROM onboardings WHERE guild_id = ?", guild_id)


def put(tx: Tx, row: OnboardingRow) -> None:
    """Insert or update a guild's onboarding."""
    assignments = ", ".join(f"{field} = excluded.{field}" for field in OnboardingRow._fields[1:])
    tx.run(
        f"INSERT INTO onboardings ({COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (guild_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_guild_onboarding(tx: Tx, guild_id: int) -> None:
    """Delete a guild's onboarding and all responses to it."""
    tx.run("DELETE FROM onboardings WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM onboarding_answers WHERE guild_id = ?", guild_id)


def find_responses(tx: Tx, guild_id: int, user_id: int) -> list[Snowflake]:
    """Return the option IDs that a member chose. Some options may have been deleted."""
    sql = "SELECT option_ids FROM onboarding_answers WHERE guild_id = ? AND user_id = ?"
    option_ids_json = tx.value(sql, guild_id, user_id)
    return [] if option_ids_json is None else codec.decode(option_ids_json, list[Snowflake])


def list_responses(tx: Tx, user_id: int) -> list[tuple[int, list[Snowflake]]]:
    """Return (guild ID, chosen option IDs) for each guild in which the user responded."""
    rows = tx.all("SELECT guild_id, option_ids FROM onboarding_answers WHERE user_id = ? ORDER BY guild_id", user_id)
    return [(guild_id, codec.decode(option_ids, list[Snowflake])) for guild_id, option_ids in rows]


def put_responses(tx: Tx, guild_id: int, user_id: int, option_ids: Sequence[Snowflake]) -> None:
    """Insert or update the options that a member chose."""
    tx.run(
        "INSERT INTO onboarding_answers (guild_id, user_id, option_ids) VALUES (?, ?, ?) "
        "ON CONFLICT (guild_id, user_id) DO UPDATE SET option_ids = excluded.option_ids",
        guild_id,
        user_id,
        codec.encode(list(option_ids)).decode(),
    )


def delete_responses(tx: Tx, guild_id: int, user_id: int) -> None:
    tx.run("DELETE FROM onboarding_answers WHERE guild_id = ? AND user_id = ?", guild_id, user_id)
