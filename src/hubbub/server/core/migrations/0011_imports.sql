-- Imports of guilds (decisions/0128, 0129). digest is the SHA-256 of the imported file. state is running or done. stage and position are
-- the number of the step and of the records that it has processed, so that an interrupted import continues there.
CREATE TABLE imports (
    id BIGINT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    format TEXT NOT NULL,
    owner_id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    state TEXT NOT NULL,
    stage INTEGER NOT NULL DEFAULT 0,
    position BIGINT NOT NULL DEFAULT 0,
    created_ms BIGINT NOT NULL,
    completed_ms BIGINT
);
CREATE UNIQUE INDEX imports_digest ON imports (digest, owner_id);
CREATE INDEX imports_guild ON imports (guild_id);

-- New IDs by the IDs that objects had in an imported file. No two imports create the same ID.
CREATE TABLE import_ids (
    import_id BIGINT NOT NULL,
    old_id BIGINT NOT NULL,
    new_id BIGINT NOT NULL,
    PRIMARY KEY (import_id, old_id)
) {without_rowid};
CREATE UNIQUE INDEX import_ids_new ON import_ids (new_id);

-- Accounts without a login that an import created for the members and authors of another server. username and global_name are the names that the user
-- had there. code_hash is the SHA-256 of the code with which a user claims the account; claimed_by is that user.
CREATE TABLE placeholders (
    user_id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    username TEXT NOT NULL,
    global_name TEXT,
    code_hash {blob} NOT NULL,
    claimed_by BIGINT,
    claimed_ms BIGINT
);
CREATE INDEX placeholders_guild ON placeholders (guild_id, user_id);
CREATE UNIQUE INDEX placeholders_code ON placeholders (code_hash);
CREATE INDEX placeholders_claimed ON placeholders (claimed_by) WHERE claimed_by IS NOT NULL;

-- Messages that mention a placeholder account, or to which it reacted or in whose poll it voted. A claim changes these messages.
CREATE TABLE placeholder_messages (
    user_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, message_id)
) {without_rowid};
