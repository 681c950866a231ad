-- Guilds that an operator suspended or scheduled for deletion (decisions/0125). The reason is in guilds.suspension_reason, so that
-- permission checks need no other table; it is null for other guilds. due_ms is the time of the deletion, null for a suspension only.
-- has_suspended is 1 if the deletion suspended the guild, so that a restoration lifts the suspension.
ALTER TABLE guilds ADD COLUMN suspension_reason TEXT;
CREATE TABLE guild_suspensions (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    created_ms BIGINT NOT NULL,
    due_ms BIGINT,
    has_suspended INTEGER NOT NULL DEFAULT 0
);

-- Applications that an operator disabled. applications.disabled is 1 for every row of this table.
ALTER TABLE applications ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE disabled_applications (
    application_id BIGINT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    reason TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);

-- Uploaded files of messages. A file that a forward or crosspost shares has the row of its first message only. owner_id is the user, bot
-- or webhook that uploaded the file; guild_id is null in private channels.
CREATE TABLE message_files (
    id BIGINT NOT NULL PRIMARY KEY,
    channel_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    guild_id BIGINT,
    owner_id BIGINT NOT NULL,
    size BIGINT NOT NULL,
    filename TEXT NOT NULL
);
CREATE INDEX message_files_message ON message_files (channel_id, message_id);
CREATE INDEX message_files_guild ON message_files (guild_id, size);
CREATE INDEX message_files_owner ON message_files (owner_id, size);
CREATE INDEX message_files_size ON message_files (size, id);

-- only: sqlite
INSERT INTO message_files (id, channel_id, message_id, guild_id, owner_id, size, filename)
SELECT CAST(json_extract(f.value, '$.id') AS INTEGER), m.channel_id, m.id, c.guild_id, m.author_id,
    CAST(json_extract(f.value, '$.size') AS INTEGER), json_extract(f.value, '$.filename')
FROM messages m JOIN channels c ON c.id = m.channel_id, json_each(m.attachments) f
WHERE m.attachments IS NOT NULL ORDER BY m.id
ON CONFLICT (id) DO NOTHING;

-- only: postgres
INSERT INTO message_files (id, channel_id, message_id, guild_id, owner_id, size, filename)
SELECT CAST(f.value ->> 'id' AS BIGINT), m.channel_id, m.id, c.guild_id, m.author_id,
    CAST(f.value ->> 'size' AS BIGINT), f.value ->> 'filename'
FROM messages m JOIN channels c ON c.id = m.channel_id CROSS JOIN LATERAL json_array_elements(CAST(m.attachments AS json)) f
WHERE m.attachments IS NOT NULL ORDER BY m.id
ON CONFLICT (id) DO NOTHING;

-- Storage quotas that operators set for accounts and guilds, in bytes; the configuration has the defaults.
CREATE TABLE storage_quotas (
    owner_id BIGINT NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
);

-- Announcements of operators, shown from starts_ms to ends_ms, and the users who dismissed them (decisions/0126).
CREATE TABLE announcements (
    id BIGINT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    level TEXT NOT NULL,
    content TEXT NOT NULL,
    starts_ms BIGINT NOT NULL,
    ends_ms BIGINT NOT NULL
);
CREATE INDEX announcements_ends ON announcements (ends_ms);
CREATE TABLE announcement_dismissals (
    announcement_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    PRIMARY KEY (announcement_id, user_id)
) {without_rowid};
CREATE INDEX announcement_dismissals_user ON announcement_dismissals (user_id);

-- Features that operators switched off. A feature without a row is on.
CREATE TABLE feature_switches (
    name TEXT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    message TEXT,
    changed_ms BIGINT NOT NULL
);
