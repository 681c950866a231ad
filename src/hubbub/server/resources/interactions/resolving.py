"""What the ids in an interaction stand for. Never obfuscated: the person who asks sees it (gateway.md 9)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.ids import AttachmentId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.attachments import Attachment, AttachmentRequest, is_of_type
from hubbub.protocol.resources.interactions import Resolved
from hubbub.server.core import access, cdn_urls
from hubbub.server.core.access import ChannelAccess, GuildAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import attachments, channels, members, messages, roles, users
from hubbub.server.resources.interactions.options import Reference

# webhooks-and-interactions.md 2.1, and for threads what client libraries index (http.md 1.16).
_CHANNEL_KEYS: Final = (
    "id",
    "name",
    "type",
    "last_message_id",
    "last_pin_timestamp",
    "nsfw",
    "parent_id",
    "guild_id",
    "flags",
    "rate_limit_per_user",
    "topic",
    "position",
    "thread_metadata",
    "owner_id",
    "member_count",
    "message_count",
    "total_message_sent",
)
_MEMBER_HIDES: Final = ("user", "deaf", "mute")


class Resolver:
    """Looks up what one interaction names."""

    def __init__(self, call: Call, here: ChannelAccess, bot: GuildAccess | None, person: messages.Author) -> None:
        self.call = call
        self.here = here
        """The person's standing where they ask."""
        self.bot = bot
        """The bot's standing in the guild, if it is there."""
        self.person = person
        """Who asks."""
        self.found = Resolved()
        self.uploaded: dict[int, AttachmentId] = {}
        """The ids of files by the number that they came under."""

    def look_up(
        self,
        references: Sequence[Reference],
        form: errors.FormErrors,
        said: Sequence[AttachmentRequest] = (),
    ) -> None:
        """Find everything, and note what is not there."""
        people = [each for each in references if each.kind in ("user", "mentionable")]
        ranks = [each for each in references if each.kind in ("role", "mentionable")]
        known_roles = self._roles([each.id for each in ranks])
        known_users = self._users([each.id for each in people])
        known = {"user": known_users, "role": known_roles, "mentionable": known_users | known_roles}
        for each in references:
            if each.kind in known:
                if each.id not in known[each.kind]:
                    form.add(each.path, *errors.not_snowflake(each.id))
            elif each.kind == "channel":
                self._channel(each, form)
            elif each.kind == "attachment":
                self._attachment(each, form, said)

    def user(self, user_id: int) -> bool:
        """Add one user; whether there is such a one."""
        return user_id in self._users([user_id])

    def _users(self, user_ids: list[int]) -> set[int]:
        rows = users.find_many(self.call.tx, user_ids) if user_ids else {}
        if not rows:
            return set()
        shown = self.found.users or {}
        shown.update({str(int(row.id)): users.user(row) for row in rows.values()})
        self.found.users = shown
        if self.here.guild is not None:
            found = members.find_many(self.call.tx, self.here.guild.guild_id, rows)
            told = self.found.members or {}
            for user_id, membership in found.items():
                shown_member = members.partial_member(membership.row, membership.roles)
                shown_member.permissions = Permissions(self._permissions(user_id))
                told[str(int(user_id))] = _without(shown_member, _MEMBER_HIDES)
            if told:
                self.found.members = told
        return set(rows)

    def _permissions(self, user_id: int) -> int:
        """A member's bits in the channel where the person asks."""
        if self.here.guild is None:
            return 0
        standing = access.find_member(self.call.tx, self.call.now, self.here.guild.guild_id, user_id)
        if standing is None:
            return 0
        bits = access.permissions_in(self.call.tx, standing, self.here.channel.ruling_id)
        return access.stand_in(self.call.tx, standing, self.here.channel, bits).permissions

    def _roles(self, role_ids: list[int]) -> set[int]:
        if not role_ids or self.here.guild is None:
            return set()
        rows = roles.find_many(self.call.tx, self.here.guild.guild_id, role_ids)
        if rows:
            self.found.roles = {
                **(self.found.roles or {}),
                **{str(int(each)): roles.role(row, self.call.now) for each, row in rows.items()},
            }
        return set(rows)

    def _channel(self, wanted: Reference, form: errors.FormErrors) -> None:
        try:
            there = access.channel(self.call, wanted.id)
        except errors.ApiError:
            form.add(wanted.path, *errors.not_snowflake(wanted.id))
            return
        if there.channel.guild_id != self.here.channel.guild_id:
            form.add(wanted.path, *errors.not_snowflake(wanted.id))
            return
        if wanted.channel_types and there.channel.type not in wanted.channel_types:
            form.add(wanted.path, *errors.choices(list(wanted.channel_types)))
            return
        self.found.channels = {**(self.found.channels or {}), str(wanted.id): self.channel(there)}

    def channel(self, there: ChannelAccess) -> dict[str, Any]:
        """A channel with what the person, and the app, may do in it."""
        row = channels.find(self.call.tx, there.channel.id)
        if row is None:
            raise errors.UNKNOWN_CHANNEL()
        whole = json.decode(json.encode(channels.any_channel(row)), dict)
        shown = {key: whole[key] for key in _CHANNEL_KEYS if key in whole}
        shown["permissions"] = str(int(there.permissions))
        if self.bot is not None and changes.RESOLVED_CHANNEL_PERMISSIONS.active(self.call.now):
            bits = access.permissions_in(self.call.tx, self.bot, there.channel.ruling_id)
            shown["app_permissions"] = str(
                int(access.stand_in(self.call.tx, self.bot, there.channel, bits).permissions)
            )
        return shown

    def _attachment(self, wanted: Reference, form: errors.FormErrors, said: Sequence[AttachmentRequest]) -> None:
        upload = next((each for each in self.call.files if each.index == wanted.id), None)
        if upload is None:
            form.add(wanted.path, *errors.attachment_not_found())
            return
        if upload.size > messages.file_bytes_max(self.call, self.person):
            raise errors.FILE_TOO_LARGE()
        about = next((each for each in said if each.id == wanted.id), None)
        stored = attachments.from_upload(upload, about, spoiler_flag=changes.ATTACHMENT_SPOILER.active(self.call.now))
        if wanted.file_types and not is_of_type(stored.filename, wanted.file_types):
            form.add(wanted.path, *errors.choices(list(wanted.file_types)))
            return
        cdn_urls.get_key(self.call.tx)
        shown: Attachment = attachments.Signer(self.call).attachment(self.here.channel.id, stored, ephemeral=True)
        self.uploaded[wanted.id] = stored.id
        self.found.attachments = {**(self.found.attachments or {}), str(int(stored.id)): shown}


def _without(model: msgspec.Struct, keys: Sequence[str]) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(model, enc_hook=json.encode_hook)
    return {key: value for key, value in shown.items() if key not in keys}
