-- What developers manage of their applications besides their settings.

-- The toggle "Private Channel Obfuscation": the bot does without channels it may not see before everybody must.
ALTER TABLE applications ADD COLUMN obfuscates_channels INTEGER NOT NULL DEFAULT 0;

-- state: 1 invited, 2 accepted.
CREATE TABLE application_testers (
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    state INTEGER NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (application_id, user_id)
);
CREATE INDEX application_testers_user ON application_testers (user_id);

-- What an application asked the operator for: scopes, and privileged intents once it is large. What was granted is in
-- approved_scopes and in the application's flags; ends_ms is when a grant must have been renewed.
CREATE TABLE application_approvals (
    application_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    requested_ms BIGINT NOT NULL,
    decided_ms BIGINT,
    ends_ms BIGINT,
    PRIMARY KEY (application_id, kind, name)
);
CREATE INDEX application_approvals_pending ON application_approvals (requested_ms) WHERE state = 'pending';

-- Pictures for rich presence, known to the game by their name.
CREATE TABLE application_assets (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    type INTEGER NOT NULL,
    image TEXT NOT NULL
);
CREATE UNIQUE INDEX application_assets_name ON application_assets (application_id, name);
