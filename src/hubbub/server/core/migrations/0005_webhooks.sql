-- Incoming and follower webhooks. A token is never kept: it is made of the id, the salt and a key in `meta`.

CREATE TABLE webhooks (
    id BIGINT NOT NULL PRIMARY KEY,
    type INTEGER NOT NULL,
    guild_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    user_id BIGINT,
    name TEXT NOT NULL,
    avatar TEXT,
    application_id BIGINT,
    salt TEXT,
    source_guild_id BIGINT,
    source_channel_id BIGINT
);
CREATE INDEX webhooks_guild ON webhooks (guild_id);
CREATE INDEX webhooks_channel ON webhooks (channel_id);
CREATE INDEX webhooks_source ON webhooks (source_channel_id, id) WHERE source_channel_id IS NOT NULL;

-- The copies of a message that was published to the channels that follow.
CREATE TABLE crossposts (
    source_channel_id BIGINT NOT NULL,
    source_message_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (source_channel_id, source_message_id, message_id)
) {without_rowid};
CREATE INDEX crossposts_copy ON crossposts (channel_id, message_id);
