-- Auto moderation rules. Metadata, actions and exemptions are JSON.
CREATE TABLE auto_moderation_rules (
    guild_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    creator_id BIGINT NOT NULL,
    event_type INTEGER NOT NULL,
    trigger_type INTEGER NOT NULL,
    trigger_metadata TEXT NOT NULL,
    actions TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    exempt_roles TEXT NOT NULL,
    exempt_channels TEXT NOT NULL,
    PRIMARY KEY (guild_id, id)
) {without_rowid};

-- What the enabled rules of a guild look at: 1 messages, 2 members' names. It is read with whoever is about to speak, so that
-- guilds without rules pay nothing.
ALTER TABLE guilds ADD COLUMN moderated INTEGER NOT NULL DEFAULT 0;

-- Who mentioned how many in guilds that watch for mention raids; rows are dropped when their seconds are over.
CREATE TABLE mention_counts (
    guild_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    mentions INTEGER NOT NULL,
    PRIMARY KEY (guild_id, message_id)
) {without_rowid};
