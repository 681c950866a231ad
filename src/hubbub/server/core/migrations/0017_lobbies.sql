-- Game sessions and lobbies.

-- Live gateway sessions of players: those that games opened with an OAuth2 token. They decide who is connected to a lobby.
CREATE TABLE game_sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    began_ms BIGINT NOT NULL
);
CREATE INDEX game_sessions_user ON game_sessions (user_id, application_id);

-- A lobby made by players has a secret, by which others join until it expires; the same words then make a new lobby. idle_ms is
-- when the last connected member went, and null while somebody is there.
CREATE TABLE lobbies (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    metadata TEXT,
    flags INTEGER NOT NULL DEFAULT 0,
    idle_timeout_seconds INTEGER NOT NULL,
    idle_ms BIGINT,
    by_secret INTEGER NOT NULL DEFAULT 0,
    secret TEXT,
    secret_expires_ms BIGINT,
    override_event_webhooks_url TEXT,
    linked_channel_id BIGINT
);
CREATE UNIQUE INDEX lobbies_secret ON lobbies (application_id, secret) WHERE secret IS NOT NULL;
CREATE UNIQUE INDEX lobbies_channel ON lobbies (linked_channel_id) WHERE linked_channel_id IS NOT NULL;

CREATE TABLE lobby_members (
    lobby_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    metadata TEXT,
    flags INTEGER NOT NULL DEFAULT 0,
    additional_name TEXT,
    PRIMARY KEY (lobby_id, user_id)
);
CREATE INDEX lobby_members_user ON lobby_members (user_id, application_id);

-- What was said, for as long as clients may read it back. A message of a linked lobby has the id of its copy in the channel.
CREATE TABLE lobby_messages (
    lobby_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    author_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    content TEXT NOT NULL,
    flags BIGINT NOT NULL,
    application_id BIGINT,
    additional_name TEXT,
    metadata TEXT,
    moderation_metadata TEXT,
    edited_ms BIGINT,
    PRIMARY KEY (lobby_id, id)
);
CREATE INDEX lobby_messages_author ON lobby_messages (author_id);

-- The lobby a channel is linked to, as the channel shows it.
ALTER TABLE channels ADD COLUMN linked_lobby TEXT;
