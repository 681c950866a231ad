-- Moderation of users who left a guild, or were removed from it. It applies again when they join.
-- Only users with a running timeout, or muted or deafened in voice, have a row.
CREATE TABLE departed_members (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    timed_out_until_ms BIGINT NOT NULL DEFAULT 0,
    mute INTEGER NOT NULL DEFAULT 0,
    deaf INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (guild_id, user_id)
) {without_rowid};
CREATE INDEX departed_members_user ON departed_members (user_id);

-- Counts the pending codes of an application, which are limited.
CREATE INDEX device_codes_application ON device_codes (application_id, state);
