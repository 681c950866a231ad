-- Mentions of users, roles and guilds (target_id), which count as unread until they are read (decisions/0103). A mention of @everyone
-- has the guild as its target. guild_id is null in private channels.
CREATE TABLE mentions (
    target_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    author_id BIGINT NOT NULL,
    PRIMARY KEY (target_id, message_id)
) {without_rowid};
CREATE INDEX mentions_channel ON mentions (channel_id, message_id);

-- Notification settings of a user for a guild; guild_id is 0 for private channels. mute_end_ms is null for a mute without an end, and
-- mute_seconds is the length that the user selected.
CREATE TABLE notification_settings (
    user_id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    level INTEGER NOT NULL DEFAULT 3,
    suppress_everyone INTEGER NOT NULL DEFAULT 0,
    suppress_roles INTEGER NOT NULL DEFAULT 0,
    mobile_push INTEGER NOT NULL DEFAULT 1,
    muted INTEGER NOT NULL DEFAULT 0,
    mute_end_ms BIGINT,
    mute_seconds BIGINT NOT NULL DEFAULT -1,
    version INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, guild_id)
) {without_rowid};
CREATE INDEX notification_settings_guild ON notification_settings (guild_id) WHERE guild_id <> 0;

-- Notification settings of a user for a channel, category or thread.
CREATE TABLE channel_notification_settings (
    user_id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    level INTEGER NOT NULL DEFAULT 3,
    muted INTEGER NOT NULL DEFAULT 0,
    mute_end_ms BIGINT,
    mute_seconds BIGINT NOT NULL DEFAULT -1,
    collapsed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, guild_id, channel_id)
) {without_rowid};
CREATE INDEX channel_notification_settings_channel ON channel_notification_settings (channel_id);
