"""Signals that the audit log slice raises while the log is read."""

import msgspec

from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import audit_log as wire


class AuditLogRead(msgspec.Struct, frozen=True):
    """A page of the audit log is about to be returned.

    Listeners add the objects that its entries reference (webhooks, rules, events) to `log`."""

    guild_id: GuildId
    log: wire.AuditLog
