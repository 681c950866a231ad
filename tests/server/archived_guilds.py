"""Generated archives of guilds with content of every kind, and the comparison of two archives without their IDs."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hubbub.protocol.enums import ChannelType, MessageType
from tests.media import mp3, png
from tests.server.archives import ID_PATTERN, read_archive
from tests.server.test_import_validation import GUILD_ID
from tests.world import NOW_MS

USER_IDS = [f"30000000000000000{number}" for number in range(1, 6)]
"""IDs of the users; the first one owns the guild, and the last one left it."""
FIRST_MS = 95_367_431_640
"""Time of the first messages, in milliseconds since the epoch of IDs."""
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
PERMISSIONS = st.integers(1, (1 << 53) + 7).map(str)
LOTTIE = json.dumps({"fr": 30, "ip": 0, "op": 30, "w": 320, "h": 320, "layers": []}).encode()
LOTTIE_HASH = hashlib.sha256(LOTTIE).hexdigest()[:32]
SOUND = mp3()
SOUND_HASH = hashlib.sha256(SOUND).hexdigest()[:32]
IMAGES = {hashlib.sha256(data).hexdigest()[:32]: data for data in (png(size, size) for size in (1, 2, 3))}
"""Images by their hash."""

Records = dict[str, list[dict[str, Any]]]


class GuildBuilder:
    """Draws the records of a guild. Each object has a name of its own, by which archives are compared."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.records: Records = {"guilds": [{"id": GUILD_ID, "name": "G", "owner_id": USER_IDS[0], "features": []}]}
        self.contents: dict[str, bytes] = {}
        self._count = 0

    def build(self) -> "GuildBuilder":
        """Draw all records."""
        self._add_users()
        self._add_roles()
        self._add_expressions()
        self._add_channels()
        self._add_webhooks()
        self._add_sounds()
        self._add_introduction()
        self._add_rules()
        self._add_events()
        for channel in list(self.records["channels"]):
            if channel.get("type", 0) in (ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT):
                self._add_messages(channel)
        for forum in [
            channel for channel in self.records["channels"] if channel.get("type") == ChannelType.GUILD_FORUM
        ]:
            self._add_posts(forum)
        self.records["messages"] = sorted(
            self.records.get("messages", []), key=lambda message: (int(message["channel_id"]), int(message["id"]))
        )
        # An archive contains only the users that other records name.
        records_text = json.dumps([entries for table, entries in self.records.items() if table != "users"])
        self.records["users"] = [user for user in self.records["users"] if user["id"] in records_text]
        return self

    def __repr__(self) -> str:
        return json.dumps(self.records, ensure_ascii=False)

    def _number(self) -> int:
        self._count += 1
        return self._count

    def _id(self) -> str:
        return str(400000000000001000 + self._number())

    def _add(self, table: str, required: dict[str, Any], **optional: Any) -> dict[str, Any]:
        """Add a record; each optional field, a strategy or a value, is in about half of the records."""
        record = dict(required)
        for name, value in optional.items():
            if self.draw(st.booleans()):
                record[name] = self.draw(value) if isinstance(value, st.SearchStrategy) else value
        self.records.setdefault(table, []).append(record)
        return record

    def _draw_subset(self, values: list[Any], size_max: int = 3) -> list[Any]:
        """Draw different values, in any order."""
        if not values:
            return []
        indexes = st.lists(st.integers(0, len(values) - 1), unique=True, max_size=size_max)
        return [values[index] for index in self.draw(indexes)]

    def _add_users(self) -> None:
        names = TEXTS.filter(str.strip)
        images = st.sampled_from(sorted(IMAGES))
        for user_id in USER_IDS:
            user = {"id": user_id, "username": f"user{user_id[-1]}"}
            is_owner = user_id == USER_IDS[0]
            # The owner is an account of the server that imports the archive.
            self._add("users", user, **({} if is_owner else {"global_name": names, "avatar": images}))
            if user_id != USER_IDS[-1]:
                self._add(
                    "members",
                    {"user_id": user_id, "joined_ms": NOW_MS - 5},
                    nick=names,
                    avatar=images,
                    bio=names,
                    mute=1,
                    timed_out_until_ms=str(NOW_MS + 60_000),
                )
        if self.draw(st.booleans()):
            self._add("bans", {"user_id": USER_IDS[-1], "created_ms": NOW_MS - 1}, reason=names)

    def _add_roles(self) -> None:
        self.records["roles"] = [{"id": GUILD_ID, "name": "@everyone", "permissions": "1024"}]
        for position in range(1, self.draw(st.integers(1, 3)) + 1):
            role = self._add(
                "roles",
                {
                    "id": self._id(),
                    "name": f"role {position}",
                    "permissions": self.draw(PERMISSIONS),
                    "position": position,
                },
                color=st.integers(1, 0xFFFFFF),
                hoist=1,
                mentionable=1,
                icon=st.sampled_from(sorted(IMAGES)),
                unicode_emoji="🎨",
            )
            for user_id in self._draw_subset(USER_IDS[:-1]):
                self._add("member_roles", {"user_id": user_id, "role_id": role["id"]})

    def _add_expressions(self) -> None:
        image = sorted(IMAGES)[0]
        for number in range(self.draw(st.integers(0, 2))):
            roles = [role["id"] for role in self._draw_subset(self.records["roles"][1:], 1)]
            self._add(
                "emojis",
                {"id": self._id(), "user_id": USER_IDS[1], "name": f"emoji_{number}", "image": image, "roles": roles},
            )
            sticker: dict[str, Any] = {
                "id": self._id(),
                "user_id": USER_IDS[1],
                "name": f"sticker {number}",
                "tags": "wave",
            }
            format_type, file = self.draw(st.sampled_from([(1, image), (3, LOTTIE_HASH)]))
            sticker |= {"format_type": format_type, "image": file}
            self._add("stickers", sticker, description=TEXTS.filter(str.strip))

    def _add_channels(self) -> None:
        category = {"id": self._id(), "type": int(ChannelType.GUILD_CATEGORY), "name": "category"}
        self._add("channels", category)
        kinds = self.draw(
            st.lists(
                st.sampled_from(
                    [
                        ChannelType.GUILD_TEXT,
                        ChannelType.GUILD_ANNOUNCEMENT,
                        ChannelType.GUILD_VOICE,
                        ChannelType.GUILD_FORUM,
                    ]
                ),
                max_size=3,
            )
        )
        for position, kind in enumerate([ChannelType.GUILD_TEXT, *kinds], start=1):
            channel: dict[str, Any] = {"id": self._id(), "name": f"channel {position}", "position": position}
            if kind != ChannelType.GUILD_TEXT:
                channel["type"] = int(kind)
            if kind == ChannelType.GUILD_FORUM:
                channel["available_tags"] = [
                    {
                        "id": self._id(),
                        "name": f"tag {position} {n}",
                        "moderated": n == 1,
                        "emoji_id": None,
                        "emoji_name": "🎉",
                    }
                    for n in range(2)
                ]
            elif kind == ChannelType.GUILD_VOICE:
                channel |= {"bitrate": 64000, "user_limit": 5}
            self._add(
                "channels",
                channel,
                parent_id=category["id"],
                topic=TEXTS.filter(str.strip),
                nsfw=1,
                rate_limit_per_user=5,
            )
        for channel in self.records["channels"]:
            targets = [(role["id"], 0) for role in self.records["roles"]] + [(user, 1) for user in USER_IDS]
            if found := self._draw_subset(targets):
                channel["overwrites"] = [
                    {
                        "target_id": target,
                        **({"type": 1} if kind else {}),
                        **({"allow": self.draw(PERMISSIONS)} if self.draw(st.booleans()) else {}),
                        "deny": self.draw(PERMISSIONS),
                    }
                    for target, kind in sorted(found, key=lambda item: int(item[0]))
                ]

    def _add_sounds(self) -> None:
        for number in range(self.draw(st.integers(0, 2))):
            sound = {"id": self._id(), "user_id": USER_IDS[1], "name": f"sound {number}", "file": SOUND_HASH}
            emoji = {"emoji_name": "🎵"}
            if emojis := self.records.get("emojis"):
                emoji = {"emoji_id": emojis[0]["id"], "emoji_name": emojis[0]["name"]}
            volume = self.draw(st.sampled_from([0.25, 0.5, 0.75]))
            self._add("sounds", sound | {"volume": volume} | (emoji if self.draw(st.booleans()) else {}))

    def _add_introduction(self) -> None:
        """Add a welcome screen, an onboarding with answers, a form and a guild tag."""
        texts = [channel for channel in self.records["channels"] if "type" not in channel]
        channel_ids = [channel["id"] for channel in texts]
        if self.draw(st.booleans()):
            channels = [
                {"channel_id": channel_id, "description": self.draw(TEXTS), "emoji_id": None, "emoji_name": "👋"}
                for channel_id in self._draw_subset(channel_ids)
            ]
            self._add("welcome_screens", {"channels": channels}, description=TEXTS.filter(str.strip))
        if self.draw(st.booleans()):
            prompts = [self._draw_prompt(number, channel_ids) for number in range(self.draw(st.integers(0, 2)))]
            onboarding = {"default_channel_ids": self._draw_subset(channel_ids), "prompts": prompts}
            self._add("onboardings", onboarding, enabled=1, mode=1)
            option_ids = [option["id"] for prompt in prompts for option in prompt["options"]]
            for user_id in self._draw_subset(USER_IDS[:-1]) if option_ids else ():
                answers = self._draw_subset(option_ids) or option_ids[:1]
                self._add("onboarding_answers", {"user_id": user_id, "option_ids": answers})
        if self.draw(st.booleans()):
            rules = {"field_type": "TERMS", "label": "Rules", "required": True, "values": ["Be kind", "No spam"]}
            question = {"field_type": "TEXT_INPUT", "label": self.draw(TEXTS.filter(str.strip)), "required": False}
            form = {"version_ms": NOW_MS - 8, "fields": [rules, question]}
            self._add("member_verification_forms", form, description=TEXTS.filter(str.strip))
        if self.draw(st.booleans()):
            self._add("guild_tags", {"tag": "HUB"}, badge=st.sampled_from(sorted(IMAGES)))

    def _draw_prompt(self, number: int, channel_ids: list[str]) -> dict[str, Any]:
        role_ids = [role["id"] for role in self.records["roles"][1:]]
        return {
            "id": self._id(),
            "title": f"prompt {number}",
            "options": [
                {
                    "id": self._id(),
                    "title": f"option {number} {option}",
                    "description": self.draw(TEXTS),
                    "emoji": {"id": None, "name": "🎉", "animated": False},
                    "role_ids": self._draw_subset(role_ids),
                    "channel_ids": self._draw_subset(channel_ids),
                }
                for option in range(self.draw(st.integers(1, 2)))
            ],
            "single_select": self.draw(st.booleans()),
            "required": self.draw(st.booleans()),
            "in_onboarding": self.draw(st.booleans()),
            "type": self.draw(st.integers(0, 1)),
        }

    def _add_rules(self) -> None:
        """Add rules of auto moderation."""
        text_ids = [channel["id"] for channel in self.records["channels"] if "type" not in channel]
        triggers: list[tuple[int, dict[str, Any]]] = [
            (1, {"keyword_filter": ["spam*"], "regex_patterns": ["b+"], "allow_list": ["spamalot"]}),
            (4, {"presets": [1, 3], "allow_list": []}),
            (5, {"mention_total_limit": 7, "mention_raid_protection_enabled": True}),
        ]
        actions: list[dict[str, Any]] = [
            {"type": 1, "metadata": {"custom_message": "No"}},
            {"type": 2, "metadata": {"channel_id": text_ids[0]}},
            {"type": 3, "metadata": {"duration_seconds": 60}},
        ]
        for number, (trigger_type, metadata) in enumerate(self._draw_subset(triggers)):
            rule = {
                "id": self._id(),
                "name": f"rule {number}",
                "creator_id": self.draw(st.sampled_from(USER_IDS)),
                "event_type": 1,
                "trigger_type": trigger_type,
                "trigger_metadata": metadata,
                "actions": self._draw_subset(actions) or actions[:1],
                "exempt_roles": [role["id"] for role in self._draw_subset(self.records["roles"][1:])],
                "exempt_channels": self._draw_subset(text_ids),
            }
            self._add("auto_moderation_rules", rule, enabled=1)

    def _add_events(self) -> None:
        """Add scheduled events in a voice channel or elsewhere, with responses."""
        voice_ids = [
            channel["id"] for channel in self.records["channels"] if channel.get("type") == ChannelType.GUILD_VOICE
        ]
        for number in range(self.draw(st.integers(0, 2))):
            event: dict[str, Any] = {
                "id": self._id(),
                "name": f"event {number}",
                "creator_id": self.draw(st.sampled_from(USER_IDS)),
                "start_ms": NOW_MS + 3_600_000,
                "status": 1,
            }
            if voice_ids and self.draw(st.booleans()):
                event |= {"entity_type": 2, "channel_id": voice_ids[0]}
            else:
                event |= {"entity_type": 3, "location": "Harbor", "end_ms": NOW_MS + 7_200_000}
            if users := sorted(self._draw_subset(USER_IDS)):
                event["scheduled_event_users"] = [{"user_id": user, "response": 1} for user in users]
            self._add(
                "scheduled_events", event, description=TEXTS.filter(str.strip), image=st.sampled_from(sorted(IMAGES))
            )

    def _add_webhooks(self) -> None:
        texts = [channel for channel in self.records["channels"] if "type" not in channel]
        for number in range(self.draw(st.integers(0, 2))):
            channel = self.draw(st.sampled_from(texts))
            webhook = {"id": self._id(), "channel_id": channel["id"], "name": f"hook {number}"}
            self._add("webhooks", webhook, user_id=USER_IDS[1], avatar=st.sampled_from(sorted(IMAGES)))

    def _add_messages(self, channel: dict[str, Any], *, first_id: str | None = None, depth: int = 0) -> None:
        """Add messages to a channel or thread, with threads that start at some of them and threads without a message."""
        sent_records: list[dict[str, Any]] = []
        for number in range(self.draw(st.integers(0 if first_id is None else 1, 4))):
            message = self._draw_message(channel, sent_records)
            if number == 0 and first_id is not None:
                message["id"] = first_id
            sent_records.append(message)
            if depth == 0 and "webhook_id" not in message and self.draw(st.booleans()):
                message["flags"] = "32"
                self._add_thread(channel, message["id"])
        self.records.setdefault("messages", []).extend(sent_records)
        if depth == 0 and "type" not in channel and self.draw(st.booleans()):
            self._add_thread(channel, None)

    def _draw_message(self, channel: dict[str, Any], sent_records: list[dict[str, Any]]) -> dict[str, Any]:
        number = self._number()
        message: dict[str, Any] = {
            "channel_id": channel["id"],
            # Several messages are of the same millisecond.
            "id": str((FIRST_MS + number // 3) << 22 | number),
            "author_id": self.draw(st.sampled_from(USER_IDS)),
            "content": f"message {number} {self.draw(TEXTS)}",
        }
        if self.draw(st.booleans()):
            message["content"] += f" <@{USER_IDS[0]}> <#{channel['id']}>"
            message["mentions"] = [USER_IDS[0]]
        if self.draw(st.booleans()):
            role = self.draw(st.sampled_from(self.records["roles"]))
            message["content"] += f" <@&{role['id']}>"
            message["mention_roles"] = [role["id"]]
        if sent_records and self.draw(st.booleans()):
            other = self.draw(st.sampled_from(sent_records))
            reference = {"type": 0, "channel_id": channel["id"], "message_id": other["id"], "guild_id": GUILD_ID}
            message |= {"type": int(MessageType.REPLY), "reference": reference}
        for name, value in (("edited_ms", NOW_MS - 3), ("pinned_ms", NOW_MS - 2), ("tts", 1)):
            if self.draw(st.booleans()):
                message[name] = value
        self._draw_content(message, number)
        self._draw_reactions(message)
        return message

    def _draw_content(self, message: dict[str, Any], number: int) -> None:
        """Add a file, an embed, a poll with votes, a sticker or the name of a webhook to a message."""
        kind = self.draw(st.sampled_from(["text", "file", "embed", "poll", "sticker", "webhook"]))
        stickers, webhooks = self.records.get("stickers", []), self.records.get("webhooks", [])
        if kind == "file":
            data = self.draw(st.binary(min_size=1, max_size=40))
            file_id = self._id()
            self.contents[f"attachments/{file_id}"] = data
            file = {"id": file_id, "filename": f"file {number}.bin", "size": len(data)}
            message["attachments"] = [{**file, "description": self.draw(TEXTS.filter(str.strip))}]
        elif kind == "embed":
            message["embeds"] = [{"type": "rich", "title": self.draw(TEXTS)}]
        elif kind == "poll":
            self._draw_poll(message)
        elif kind == "sticker" and stickers:
            sticker = self.draw(st.sampled_from(stickers))
            item = {"id": sticker["id"], "name": sticker["name"], "format_type": sticker["format_type"]}
            message["extra"] = {"sticker_items": [item]}
        elif kind == "webhook" and webhooks:
            webhook = self.draw(st.sampled_from(webhooks))
            message |= {"author_id": webhook["id"], "webhook_id": webhook["id"]}
            message["extra"] = {"author": {"username": f"name {number}"}}

    def _draw_poll(self, message: dict[str, Any]) -> None:
        answers = [{"answer_id": answer, "poll_media": {"text": f"answer {answer}"}} for answer in (1, 2)]
        message["extra"] = {
            "poll": {
                "question": {"text": "Which?"},
                "answers": answers,
                "expiry": "2026-11-19T11:06:40.000000+00:00",
                "allow_multiselect": True,
                "layout_type": 1,
                "results": {"is_finalized": False, "answer_counts": []},
            }
        }
        pairs = [(user, answer) for user in USER_IDS for answer in (1, 2)]
        if votes := sorted(self._draw_subset(pairs, 5)):
            message["poll_votes"] = [{"user_id": user, "answer_id": answer} for user, answer in votes]
            counts = {answer: sum(chosen_answer == answer for _, chosen_answer in votes) for answer in (1, 2)}
            message["poll_counts"] = [
                {"answer_id": answer, "votes": str(count)} for answer, count in counts.items() if count
            ]

    def _draw_reactions(self, message: dict[str, Any]) -> None:
        emoji = [{"emoji": text, "emoji_name": text} for text in ("👍", "🎉")]
        emoji += [
            {"emoji": entry["id"], "emoji_id": entry["id"], "emoji_name": entry["name"]}
            for entry in self.records.get("emojis", [])
        ]
        pairs = self._draw_subset([(user, position) for user in USER_IDS for position in range(len(emoji))])
        if pairs:
            message["reacted"] = 1
            message["reactions"] = [
                {**emoji[position], "user_id": user, "created_ms": NOW_MS - 4} for user, position in pairs
            ]

    def _add_thread(self, parent: dict[str, Any], message_id: str | None, **fields: Any) -> None:
        """Add a thread with members and messages: public if it starts at a message, else private."""
        is_announcement = parent.get("type") == ChannelType.GUILD_ANNOUNCEMENT
        kind = ChannelType.ANNOUNCEMENT_THREAD if is_announcement else ChannelType.PUBLIC_THREAD
        is_private = message_id is None
        members = self._draw_subset(USER_IDS) or [USER_IDS[0]]
        thread = {
            "id": message_id or self._id(),
            "type": int(ChannelType.PRIVATE_THREAD if is_private else kind),
            "name": f"thread {self._number()}",
            "parent_id": parent["id"],
            "owner_id": self.draw(st.sampled_from(USER_IDS)),
            "archive_changed_ms": NOW_MS - 6,
            "auto_archive_duration": 1440,
            "member_count": len(members),
            "created_ms": NOW_MS - 7,
            "thread_members": [{"user_id": user, "joined_ms": NOW_MS - 6} for user in sorted(members)],
            **({"invitable": self.draw(st.integers(0, 1))} if is_private else {}),
            **fields,
        }
        self._add("channels", thread, archived=1, locked=1, message_count=3, total_message_sent=4)
        self._add_messages(
            thread, first_id=message_id if parent.get("type") == ChannelType.GUILD_FORUM else None, depth=1
        )

    def _add_posts(self, forum: dict[str, Any]) -> None:
        for _ in range(self.draw(st.integers(0, 2))):
            number = self._number()
            tags = [tag["id"] for tag in self._draw_subset(forum["available_tags"])]
            self._add_thread(forum, str((FIRST_MS + number // 3) << 22 | number), applied_tags=tags)


@st.composite
def guilds(draw: st.DrawFn) -> GuildBuilder:
    """Generate the records and files of a guild."""
    return GuildBuilder(draw).build()


def list_files(records: Records, contents: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of an archive by their path: the attachments, and the images that the records name."""
    text = json.dumps(records)
    images = IMAGES | {LOTTIE_HASH: LOTTIE}
    sounds = {f"sounds/{SOUND_HASH}": SOUND} if SOUND_HASH in text else {}
    return contents | sounds | {f"images/{name}": data for name, data in images.items() if name in text}


def describe_archive(path: Path) -> dict[str, list[str]]:
    """Return all records of an archive, with names instead of IDs, and its files. Messages keep their order."""
    records = read_archive(path)
    names: dict[str, str] = {GUILD_ID: "guild"} | {record["id"]: "guild" for record in records["guilds"]}
    for table, field in (("users", "username"), ("messages", "content"), ("channels", "name"), ("roles", "name")):
        for record in records.get(table, []):
            text = " ".join(record[field].split(" ")[:2]) if table == "messages" else record[field]
            names.setdefault(record["id"], f"{table} {text}")
    named_tables = ("emojis", "stickers", "webhooks", "sounds", "auto_moderation_rules", "scheduled_events")
    for record in [record for table in named_tables for record in records.get(table, [])]:
        names[record["id"]] = record["name"]
    for prompt in [prompt for record in records.get("onboardings", []) for prompt in record["prompts"]]:
        names |= {entry["id"]: entry["title"] for entry in (prompt, *prompt["options"])}
    for record in records.get("channels", []):
        names |= {tag["id"]: tag["name"] for tag in record.get("available_tags", [])}
    for record in records.get("messages", []):
        names |= {file["id"]: file["filename"] for file in record.get("attachments", [])}

    def describe(value: Any) -> str:
        for name in ("overwrites", "thread_members", "reactions", "poll_votes", "scheduled_event_users"):
            if name in value:
                value = value | {name: sorted(value[name], key=describe)}
        return ID_PATTERN.sub(
            lambda match: names.get(match[0], match[0]), json.dumps(value, sort_keys=True, ensure_ascii=False)
        )

    descriptions = {name: sorted(map(describe, entries)) for name, entries in records.items() if entries}
    sorted_messages = sorted(records.get("messages", []), key=lambda message: int(message["id"]))
    descriptions["messages"] = [
        text
        for _, text in sorted(
            ((names[m["channel_id"]], describe(m)) for m in sorted_messages), key=lambda pair: pair[0]
        )
    ]
    with zipfile.ZipFile(path) as archive:
        descriptions["contents"] = sorted(
            f"{ID_PATTERN.sub(lambda match: names[match[0]], name)} {hashlib.sha256(archive.read(name)).hexdigest()}"
            for name in archive.namelist()
            if name.startswith("files/")
        )
    return descriptions
