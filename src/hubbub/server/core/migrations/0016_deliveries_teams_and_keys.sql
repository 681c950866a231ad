-- The log of requests that were sent to endpoints of applications: webhook events and interactions (decisions/0149). One row per delivery,
-- with the last attempt. body is the request body without tokens; is_complete is 0 if it was cut.
-- is_own_url is 0 for the URL of a lobby. next_ms is null without another attempt.
CREATE TABLE deliveries (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    url TEXT NOT NULL,
    is_own_url INTEGER NOT NULL,
    created_ms BIGINT NOT NULL,
    attempted_ms BIGINT NOT NULL,
    next_ms BIGINT,
    attempts INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    status INTEGER,
    error TEXT,
    job_id BIGINT NOT NULL,
    subject_key TEXT NOT NULL,
    is_complete INTEGER NOT NULL,
    request_headers TEXT NOT NULL,
    body TEXT NOT NULL,
    response_headers TEXT NOT NULL,
    response_body TEXT NOT NULL
);
CREATE INDEX deliveries_application ON deliveries (application_id, id);

-- Teams of developers and their members (decisions/0150). The owner of a team has no row in team_members. state is 1 for an invitation
-- and 2 for a member. owner_id of an application of a team is the owner of the team.
CREATE TABLE teams (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    icon TEXT,
    owner_id BIGINT NOT NULL
);
CREATE INDEX teams_owner ON teams (owner_id);
CREATE TABLE team_members (
    team_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    state INTEGER NOT NULL,
    role TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (team_id, user_id)
) {without_rowid};
CREATE INDEX team_members_user ON team_members (user_id, team_id);
ALTER TABLE applications ADD COLUMN team_id BIGINT;
CREATE INDEX applications_team ON applications (team_id);

-- The other signing key of an application during a roll-over: the next key (is_next 1), which takes effect at switch_ms if it is set, or
-- the previous key (is_next 0), which can be used again until ends_ms.
CREATE TABLE application_keys (
    application_id BIGINT NOT NULL PRIMARY KEY,
    is_next INTEGER NOT NULL,
    signing_key {blob} NOT NULL,
    verify_key TEXT NOT NULL,
    switch_ms BIGINT,
    ends_ms BIGINT
);
