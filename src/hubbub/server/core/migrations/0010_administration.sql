-- Users who administer the server (decisions/0113). role is owner, moderator or auditor. granted_by is null if the role was granted on
-- the command line.
CREATE TABLE operators (
    user_id BIGINT NOT NULL PRIMARY KEY,
    role TEXT NOT NULL,
    granted_by BIGINT,
    granted_ms BIGINT NOT NULL
);

-- Actions of operators. operator_id is null for actions on the command line. target_name is the name that the target had at the time.
CREATE TABLE operator_audit (
    id BIGINT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    action TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target_id BIGINT,
    target_name TEXT NOT NULL,
    detail TEXT NOT NULL,
    reason TEXT
);
CREATE INDEX operator_audit_operator ON operator_audit (operator_id, id);
CREATE INDEX operator_audit_target ON operator_audit (target_id, id);

-- Accounts that are deleted at due_ms unless an operator restores them. has_suspended is 1 if the deletion suspended the account, so
-- that a restoration lifts the suspension.
CREATE TABLE scheduled_deletions (
    user_id BIGINT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    reason TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    due_ms BIGINT NOT NULL,
    has_suspended INTEGER NOT NULL
);
