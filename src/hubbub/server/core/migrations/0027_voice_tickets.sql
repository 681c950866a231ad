-- A person is in one voice channel in all.
CREATE INDEX voice_states_user ON voice_states (user_id);

-- What lets a client into the voice server: a new one at each join, move and takeover, for one user, session and channel.
CREATE TABLE voice_tickets (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    token_hash {blob} NOT NULL,
    server TEXT,
    PRIMARY KEY (guild_id, user_id)
) {without_rowid};
CREATE UNIQUE INDEX voice_tickets_token ON voice_tickets (token_hash);
CREATE INDEX voice_tickets_channel ON voice_tickets (channel_id);
CREATE INDEX voice_tickets_server ON voice_tickets (server);

-- Voice servers of a platform of several processes, and when each was last there.
CREATE TABLE voice_servers (
    endpoint TEXT NOT NULL PRIMARY KEY,
    seen_ms BIGINT NOT NULL
);

-- Connections that the voice server refused: the next join waits.
CREATE TABLE voice_failures (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    failures INTEGER NOT NULL,
    failed_ms BIGINT NOT NULL,
    PRIMARY KEY (guild_id, user_id)
) {without_rowid};
