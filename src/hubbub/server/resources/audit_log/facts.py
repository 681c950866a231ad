"""What the audit log tells upper floors, while it is read."""

import msgspec

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import audit_log as wire


class AuditLogRead(msgspec.Struct, frozen=True):
    """A page is about to be shown: who keeps the objects that its entries name (webhooks, rules, events) adds them to it."""

    guild_id: GuildId
    log: wire.AuditLog
