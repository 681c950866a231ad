-- Connections, role connections and guild tags.

-- A person's accounts elsewhere. publisher_scheme ('new' or 'legacy') says how one came to be that a publisher may hide.
CREATE TABLE connections (
    user_id BIGINT NOT NULL,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT,
    verified INTEGER NOT NULL DEFAULT 0,
    friend_sync INTEGER NOT NULL DEFAULT 0,
    show_activity INTEGER NOT NULL DEFAULT 0,
    two_way_link INTEGER NOT NULL DEFAULT 0,
    visibility INTEGER NOT NULL DEFAULT 0,
    revoked INTEGER NOT NULL DEFAULT 0,
    publisher_scheme TEXT NOT NULL DEFAULT 'legacy',
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, type, id)
) {without_rowid};

-- What an application can tell of its users, as JSON.
CREATE TABLE role_connection_metadata (
    application_id BIGINT NOT NULL PRIMARY KEY,
    records TEXT NOT NULL
);

-- What it tells of one of them.
CREATE TABLE role_connections (
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    platform_name TEXT,
    platform_username TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, application_id)
) {without_rowid};

-- Roles that are worn by whom an application vouches for: alternatives of requirements, as JSON.
CREATE TABLE linked_roles (
    role_id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    configuration TEXT NOT NULL
);
CREATE INDEX linked_roles_guild ON linked_roles (guild_id);

-- The tag that members of a guild may wear beside their name.
CREATE TABLE guild_tags (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    tag TEXT NOT NULL,
    badge TEXT
);

-- The tag a user wears, as JSON of `PrimaryGuild`; the guild's id beside it, to find everybody who wears its tag.
ALTER TABLE users ADD COLUMN primary_guild TEXT;
ALTER TABLE users ADD COLUMN primary_guild_id BIGINT;
CREATE INDEX users_primary_guild ON users (primary_guild_id) WHERE primary_guild_id IS NOT NULL;
