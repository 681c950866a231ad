-- Application commands, their permissions, and interactions.

-- guild_id 0: global. `definition` is JSON of all that is not looked for.
CREATE TABLE commands (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    position INTEGER NOT NULL,
    definition TEXT NOT NULL
);
CREATE UNIQUE INDEX commands_name ON commands (application_id, guild_id, type, name);
CREATE INDEX commands_guild ON commands (guild_id) WHERE guild_id <> 0;

-- Who may use a command in a guild, as JSON; under the application's own id, all of its commands.
CREATE TABLE command_permissions (
    guild_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    permissions TEXT NOT NULL,
    PRIMARY KEY (guild_id, application_id, target_id)
) {without_rowid};
CREATE INDEX command_permissions_target ON command_permissions (target_id);

-- Applications that people installed for themselves.
CREATE TABLE user_installs (
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, application_id)
) {without_rowid};
CREATE INDEX user_installs_application ON user_installs (application_id);

-- What people asked of apps, for as long as the apps may answer. `asked` is JSON of what answers need to know of it,
-- `modal` JSON of the components that were shown in answer.
CREATE TABLE interactions (
    id BIGINT NOT NULL PRIMARY KEY,
    token_hash {blob} NOT NULL,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    asked TEXT NOT NULL,
    callback_type INTEGER,
    original_id BIGINT,
    follow_ups INTEGER NOT NULL DEFAULT 0,
    modal TEXT
);
CREATE UNIQUE INDEX interactions_token ON interactions (token_hash);
CREATE INDEX interactions_open ON interactions (id) WHERE callback_type IS NULL;

-- What only the one who asked, and the app, can see: messages in every way but that nobody else finds them.
CREATE TABLE ephemeral_messages (
    channel_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    author_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    flags BIGINT NOT NULL,
    content TEXT NOT NULL,
    tts INTEGER NOT NULL DEFAULT 0,
    edited_ms BIGINT,
    pinned_ms BIGINT,
    mention_everyone INTEGER NOT NULL DEFAULT 0,
    mentions TEXT,
    mention_roles TEXT,
    attachments TEXT,
    embeds TEXT,
    components TEXT,
    reference TEXT,
    snapshots TEXT,
    webhook_id BIGINT,
    application_id BIGINT,
    reacted INTEGER NOT NULL DEFAULT 0,
    extra TEXT,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (channel_id, id)
) {without_rowid};
CREATE INDEX ephemeral_messages_expiry ON ephemeral_messages (expires_ms);
