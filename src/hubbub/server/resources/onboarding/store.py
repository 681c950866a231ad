"""Rows of onboarding."""

from typing import NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ChannelId
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
