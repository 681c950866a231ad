"""Guilds with content of many kinds, and their archives, for the tests of exports and imports."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import aiohttp

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.server.transfer.export import ExportSummary, export_guild
from tests.media import data_uri, png
from tests.world import Actor, Guild, World


async def export_archive(world: World, guild_id: int, path: Path, **options: Any) -> ExportSummary:
    """Export a guild of a world to a file."""
    database = world.app.database
    return await export_guild(
        lambda work: database.read(work, long=True),
        world.app.files,
        guild_id,
        path,
        now_ms=world.clock.now_ms(),
        **options,
    )


def read_archive(path: Path) -> dict[str, list[Any]]:
    """Return the records of an archive by the name of their file."""
    with zipfile.ZipFile(path) as archive:
        return {
            name.removesuffix(".jsonl"): [json.loads(line) for line in archive.read(name).splitlines()]
            for name in archive.namelist()
            if name.endswith(".jsonl")
        }


async def send_message_with_file(
    actor: Actor, channel_id: int, content: str, data: bytes = b"some text", name: str = "notes.txt"
) -> Any:
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps({"content": content}), content_type="application/json")
    form.add_field("files[0]", data, filename=name, content_type="text/plain")
    return (await actor.post(f"/channels/{channel_id}/messages", data=form)).ok()


async def fill_guild(world: World, guild: Guild) -> dict[str, int]:
    """Create content of many kinds in a guild. Return the IDs of the objects that tests refer to, by name."""
    owner, bob = guild.owner, await guild.member()
    guild_path = f"/guilds/{guild.id}"
    role_id = await guild.role("artists", color=0x123456, hoist=True)
    await guild.add_role(bob, role_id)
    (await owner.patch(f"{guild_path}/members/{bob.id}", json={"nick": "Bobby"})).ok()
    category_id = await guild.channel("Studio", type=ChannelType.GUILD_CATEGORY)
    paintings_channel_id = await guild.channel("paintings", parent_id=str(category_id), topic=f"By <@&{role_id}>")
    await guild.overwrite(paintings_channel_id, role_id, target_type=OverwriteType.ROLE, allow=1 << 11)
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM, available_tags=[{"name": "big"}])
    emoji = (await owner.post(f"{guild_path}/emojis", json={"name": "brush", "image": data_uri(png())})).ok()
    first_message = await guild.send_message(
        owner, f"Welcome <@{bob.id}> to <#{paintings_channel_id}> <:brush:{emoji['id']}>"
    )
    reply = await guild.send_message(bob, "thanks", message_reference={"message_id": first_message["id"]})
    await owner.put(f"/channels/{guild.general}/messages/{reply['id']}/reactions/brush:{emoji['id']}/@me")
    await bob.put(f"/channels/{guild.general}/messages/{first_message['id']}/reactions/%F0%9F%91%8D/@me")
    (await owner.put(f"/channels/{guild.general}/messages/pins/{first_message['id']}")).ok()
    (
        await owner.patch(
            f"/channels/{guild.general}/messages/{first_message['id']}", json={"embeds": [{"title": "Hi"}]}
        )
    ).ok()
    file = await send_message_with_file(bob, paintings_channel_id, "a painting")
    thread = (
        await owner.post(f"/channels/{guild.general}/messages/{first_message['id']}/threads", json={"name": "talk"})
    ).ok()
    await guild.send_message(bob, "in the thread", channel_id=int(thread["id"]))
    poll = {"question": {"text": "Which?"}, "answers": [{"poll_media": {"text": text}} for text in ("a", "b")]}
    poll_message = (await owner.post(f"/channels/{guild.general}/messages", json={"poll": poll})).ok()
    vote_path = f"/channels/{guild.general}/polls/{poll_message['id']}/answers/@me"
    (await bob.put(vote_path, json={"answer_ids": ["1"]})).ok()
    post = {"name": "An idea", "message": {"content": "do it"}}
    (await bob.post(f"/channels/{forum_id}/threads", json=post)).ok()
    webhook = (await owner.post(f"/channels/{paintings_channel_id}/webhooks", json={"name": "Camera"})).ok()
    execute_path = f"/webhooks/{webhook['id']}/{webhook['token']}"
    (await world.request("POST", f"{execute_path}?wait=true", json={"content": "click", "username": "Kodak"})).ok()
    banned_member = await guild.member()
    await guild.send_message(banned_member, "bye")
    (await owner.put(f"{guild_path}/bans/{banned_member.id}", json={})).ok()
    rule = {
        "name": "words",
        "event_type": 1,
        "trigger_type": 1,
        "trigger_metadata": {"keyword_filter": ["heck"]},
        "actions": [{"type": 1}],
        "exempt_roles": [str(role_id)],
    }
    (await owner.post(f"{guild_path}/auto-moderation/rules", json=rule)).ok()
    event = {
        "name": "Vernissage",
        "privacy_level": 2,
        "scheduled_start_time": "2027-01-01T00:00:00Z",
        "scheduled_end_time": "2027-01-01T02:00:00Z",
        "entity_type": 3,
        "entity_metadata": {"location": "Gallery"},
    }
    (await owner.post(f"{guild_path}/scheduled-events", json=event)).ok()
    (await owner.post(f"/channels/{guild.general}/invites", json={})).ok()
    return {
        "bob": bob.id,
        "role": role_id,
        "paintings": paintings_channel_id,
        "thread": int(thread["id"]),
        "first": int(first_message["id"]),
        "reply": int(reply["id"]),
        "emoji": int(emoji["id"]),
        "attachment": int(file["attachments"][0]["id"]),
        "poll_message": int(poll_message["id"]),
    }


ID_PATTERN = re.compile(r"(?<![0-9a-z_])[0-9]{15,20}(?![0-9a-z_])")
"""Pattern of an ID in JSON. Hashes and times do not match."""


def replace_ids(records: dict[str, list[Any]]) -> Any:
    """Return the records of an archive with IDs replaced by numbers in the order of their first use.

    Messages keep the order of their channel. Users, roles and channels are ordered by name, because the IDs of objects of the
    same millisecond are assigned in the order of the tables."""
    numbers: dict[str, str] = {}

    def sort_key(entry: dict[str, Any]) -> Any:
        channel = numbers.get(entry.get("channel_id", ""), "#0")
        return (
            entry.get("username", entry.get("name", "")),
            int(channel[1:]),
            len(entry.get("id", "")),
            entry.get("id", ""),
        )

    for name in ("users", "guilds", "roles", "emojis", "channels", "messages", *sorted(records)):
        for entry in sorted(records.get(name, ()), key=sort_key):
            for text in ID_PATTERN.findall(json.dumps(entry)) if "id" in entry else ():
                numbers.setdefault(text, f"#{len(numbers)}")
    replaced_records = json.loads(ID_PATTERN.sub(lambda match: numbers.get(match[0], "?"), json.dumps(records)))
    return {
        name: sorted(json.dumps(entry, sort_keys=True) for entry in entries)
        for name, entries in replaced_records.items()
    }
