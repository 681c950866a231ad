-- Stage instances, scheduled events, templates, and the pages a guild shows its members.

CREATE TABLE stage_instances (
    channel_id BIGINT NOT NULL PRIMARY KEY,
    id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    topic TEXT NOT NULL,
    privacy_level INTEGER NOT NULL,
    scheduled_event_id BIGINT
);
CREATE INDEX stage_instances_guild ON stage_instances (guild_id);

CREATE TABLE scheduled_events (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    creator_id BIGINT,
    name TEXT NOT NULL,
    start_ms BIGINT NOT NULL,
    end_ms BIGINT,
    entity_type INTEGER NOT NULL,
    status INTEGER NOT NULL DEFAULT 1,
    channel_id BIGINT,
    entity_id BIGINT,
    location TEXT,
    description TEXT,
    image TEXT,
    recurrence TEXT
);
CREATE INDEX scheduled_events_guild ON scheduled_events (guild_id, status);
CREATE INDEX scheduled_events_channel ON scheduled_events (channel_id) WHERE channel_id IS NOT NULL;

-- One occurrence of a recurring event that differs from the rule; its id is the snowflake of the start by the rule.
CREATE TABLE scheduled_event_exceptions (
    event_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    start_ms BIGINT,
    end_ms BIGINT,
    canceled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, id)
) {without_rowid};

-- Who is interested: in the event (exception_id 0), or what they answered for one occurrence.
CREATE TABLE scheduled_event_users (
    event_id BIGINT NOT NULL,
    exception_id BIGINT NOT NULL DEFAULT 0,
    user_id BIGINT NOT NULL,
    response INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (event_id, exception_id, user_id)
) {without_rowid};
CREATE INDEX scheduled_event_users_user ON scheduled_event_users (user_id);

CREATE TABLE guild_templates (
    code TEXT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    usage_count INTEGER NOT NULL DEFAULT 0,
    creator_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    snapshot TEXT NOT NULL
);
CREATE UNIQUE INDEX guild_templates_guild ON guild_templates (guild_id);

CREATE TABLE welcome_screens (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    description TEXT,
    channels TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE guild_homes (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL
);

CREATE TABLE onboardings (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    enabled INTEGER NOT NULL DEFAULT 0,
    mode INTEGER NOT NULL DEFAULT 0,
    default_channel_ids TEXT NOT NULL DEFAULT '[]',
    prompts TEXT NOT NULL DEFAULT '[]'
);

-- Codes are kept in lower case.
CREATE TABLE vanity_urls (
    code TEXT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX vanity_urls_guild ON vanity_urls (guild_id);

-- The invite that a guild's widget shows.
CREATE TABLE widget_invites (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    code TEXT NOT NULL
);

CREATE TABLE member_verification_forms (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    version_ms BIGINT NOT NULL,
    description TEXT,
    fields TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE join_requests (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    reviewed_ms BIGINT,
    rejection_reason TEXT,
    responses TEXT NOT NULL DEFAULT '[]',
    actioned_by BIGINT
);
CREATE UNIQUE INDEX join_requests_user ON join_requests (guild_id, user_id);
CREATE INDEX join_requests_status ON join_requests (guild_id, status, id);
CREATE INDEX members_pending ON members (guild_id) WHERE pending = 1;
