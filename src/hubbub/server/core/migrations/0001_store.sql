-- What the store keeps for itself.

CREATE TABLE schema_migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL
);

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) {without_rowid};

INSERT INTO meta (name, value) VALUES ('commit_seq', '0');

-- due_ms orders the jobs of a key; ready_ms is when a job may next be taken: its due time, the end of a lease, or a retry.
CREATE TABLE jobs (
    id {autoid},
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    due_ms BIGINT NOT NULL,
    ready_ms BIGINT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts INTEGER NOT NULL DEFAULT 0,
    first_tried_ms BIGINT,
    leased_by TEXT NOT NULL DEFAULT '',
    error TEXT
);

CREATE INDEX jobs_waiting ON jobs (ready_ms, id) WHERE state = 'waiting';

CREATE INDEX jobs_key ON jobs (key, due_ms, id) WHERE key <> '';
