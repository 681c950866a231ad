"""Guild templates, in their public form, as a source of an import."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.resources.templates import TemplateChannel, TemplateGuild
from hubbub.server.transfer.conversion import OWNER_ID, guild_records, make_record, make_snowflake
from hubbub.server.transfer.records import InvalidArchive, Record
from hubbub.server.transfer.sources import SourceFile


class _PublicTemplate(msgspec.Struct):
    """The fields of a template that an import reads."""

    serialized_source_guild: TemplateGuild
    name: str = ""
    updated_at: datetime | None = None


class TemplateSource:
    """A template: the roles and channels of a guild, without members and messages."""

    format = "template"

    def __init__(self, template_json: bytes, *, file: str, created_ms: int) -> None:
        """Decode a template, or only its guild; raise InvalidArchive if it is invalid.

        `created_ms` is the time of the objects in Unix milliseconds if the template has none."""
        self._file = file
        self._digest = hashlib.sha256(template_json).hexdigest()
        self._created_ms = created_ms
        try:
            if b'"serialized_source_guild"' in template_json:
                template = codec.decode(template_json, _PublicTemplate)
                self._guild = template.serialized_source_guild
                if template.updated_at is not None:
                    self._created_ms = codec.milliseconds(template.updated_at)
            else:
                self._guild = codec.decode(template_json, TemplateGuild)
        except msgspec.DecodeError as error:
            problem, _, path = str(error).partition(" - at `")
            raise InvalidArchive(problem, file=file, field=path.rstrip("`").removeprefix("$.")) from None
        self.guild_name = self._guild.name
        self.owner_id = OWNER_ID
        self.totals = {"roles": len(self._guild.roles), "channels": len(self._guild.channels)}
        self.notes = ["A template has no members and messages."]

    def digest(self) -> str:
        """Return the SHA-256 of the template."""
        return self._digest

    def _make_id(self, kind_number: int, template_number: int) -> int:
        """Return the ID of an object: `kind_number` is 0 for the guild, 1 for a role, 2 for a channel and 3 for a tag.

        Templates number their roles and channels from 0, so each kind has its own range."""
        return make_snowflake(self._created_ms, kind_number << 18 | template_number & 0x3FFFF)

    def records(self) -> Iterator[Record]:
        """Yield the guild, its roles and its channels."""
        guild = self._guild
        roles_by_number = {int(role.id): role for role in guild.roles}
        everyone_role = roles_by_number.get(0)
        guild_id = self._make_id(0, 0)
        yield from guild_records(
            guild_id,
            guild.name,
            everyone_permissions=0 if everyone_role is None else int(everyone_role.permissions),
            file=self._file,
            description=guild.description,
            verification_level=guild.verification_level,
            default_message_notifications=guild.default_message_notifications,
            explicit_content_filter=guild.explicit_content_filter,
            preferred_locale=guild.preferred_locale,
            afk_timeout=guild.afk_timeout,
            afk_channel_id=self._optional_id(guild.afk_channel_id),
            system_channel_id=self._optional_id(guild.system_channel_id),
            system_channel_flags=guild.system_channel_flags,
        )
        for position, role in enumerate(guild.roles):
            if int(role.id):
                values = {
                    "id": str(self._make_id(1, int(role.id))),
                    "name": role.name,
                    "permissions": str(int(role.permissions)),
                    "position": position,
                    "color": role.color,
                    "hoist": int(role.hoist),
                    "mentionable": int(role.mentionable),
                    "unicode_emoji": role.unicode_emoji,
                }
                yield make_record("roles", values, file=self._file)
        for channel in guild.channels:
            yield make_record("channels", self._channel_values(channel, guild_id), file=self._file)

    def _optional_id(self, template_number: Any) -> str | None:
        return None if template_number is None else str(self._make_id(2, int(template_number)))

    def _channel_values(self, channel: TemplateChannel, guild_id: int) -> dict[str, Any]:
        overwrites = [
            {
                "target_id": str(self._make_id(1, int(overwrite.id)) if int(overwrite.id) else guild_id),
                "type": 0,
                "allow": str(int(overwrite.allow)),
                "deny": str(int(overwrite.deny)),
            }
            for overwrite in channel.permission_overwrites
        ]
        tags = msgspec.to_builtins(channel.available_tags, enc_hook=codec.encode_hook)
        return {
            "id": self._optional_id(channel.id),
            "type": int(channel.type),
            "name": channel.name,
            "position": channel.position,
            "topic": channel.topic,
            "bitrate": channel.bitrate,
            "user_limit": channel.user_limit,
            "nsfw": int(channel.nsfw),
            "rate_limit_per_user": channel.rate_limit_per_user,
            "parent_id": self._optional_id(channel.parent_id),
            "default_auto_archive_duration": channel.default_auto_archive_duration,
            "available_tags": [
                {**tag, "id": str(self._make_id(3, index))}
                for index, tag in enumerate(tags or (), start=(channel.position or 0) << 5)
            ]
            or None,
            "overwrites": overwrites,
        }

    def files(self) -> Iterator[SourceFile]:
        """Yield nothing, because templates have no files."""
        return iter(())

    def open_file(self, file: SourceFile) -> IO[bytes]:
        """Raise FileNotFoundError, because templates have no files."""
        raise FileNotFoundError(file.key)

    def close(self) -> None:
        """Do nothing, because the template is in memory."""
