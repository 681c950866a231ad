-- Emoji, stickers and sounds. `image` is the hash of a picture in the file store, `file` that of a sound.

CREATE TABLE emojis (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT,
    application_id BIGINT,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    image TEXT NOT NULL,
    animated INTEGER NOT NULL DEFAULT 0,
    roles TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX emojis_guild ON emojis (guild_id) WHERE guild_id IS NOT NULL;
CREATE INDEX emojis_application ON emojis (application_id) WHERE application_id IS NOT NULL;

CREATE TABLE stickers (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    tags TEXT NOT NULL,
    format_type INTEGER NOT NULL,
    image TEXT NOT NULL
);
CREATE INDEX stickers_guild ON stickers (guild_id);

CREATE TABLE sounds (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    volume DOUBLE PRECISION NOT NULL DEFAULT 1,
    emoji_id BIGINT,
    emoji_name TEXT,
    file TEXT NOT NULL
);
CREATE INDEX sounds_guild ON sounds (guild_id);
