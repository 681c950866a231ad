-- A ticket is for a guild, for a lobby or for a private channel: what the voice protocol calls a server.
ALTER TABLE voice_tickets RENAME COLUMN guild_id TO server_id;
ALTER TABLE voice_failures RENAME COLUMN guild_id TO server_id;

-- Who is in a call that is not a guild's voice channel: of a lobby (kind 1) or of a private channel (kind 2), by its id.
CREATE TABLE call_states (
    call_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    kind INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    self_deaf INTEGER NOT NULL DEFAULT 0,
    self_mute INTEGER NOT NULL DEFAULT 0,
    self_video INTEGER NOT NULL DEFAULT 0,
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (call_id, user_id)
) {without_rowid};
CREATE INDEX call_states_user ON call_states (user_id);

-- The call of a private channel while it lasts, and the message that tells of it.
CREATE TABLE private_calls (
    channel_id BIGINT NOT NULL PRIMARY KEY,
    message_id BIGINT NOT NULL
);

-- Whom such a call rings, and until when.
CREATE TABLE private_call_rings (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    ends_ms BIGINT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) {without_rowid};
