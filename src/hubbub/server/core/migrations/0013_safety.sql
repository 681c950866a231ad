-- Decisions of operators about accounts, which the account sees and may appeal once (decisions/0127). user_id is the affected account, for
-- a guild its owner. ends_ms is the end of a suspension, null if it does not end by itself. appeal_outcome is null while an appeal is open.
CREATE TABLE moderation_decisions (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT,
    operator_id BIGINT,
    guild_id BIGINT,
    case_id BIGINT,
    created_ms BIGINT NOT NULL,
    ends_ms BIGINT,
    revoked_ms BIGINT,
    appeal TEXT,
    appealed_ms BIGINT,
    appeal_outcome TEXT,
    appeal_note TEXT,
    appeal_operator_id BIGINT,
    appeal_decided_ms BIGINT
);
CREATE INDEX moderation_decisions_user ON moderation_decisions (user_id, id);
CREATE INDEX moderation_decisions_appeal ON moderation_decisions (appealed_ms, id);

-- Reported messages, users and guilds. A target has at most one open case. user_id is the account that a decision affects; null if the
-- author of a message is a bot or a webhook. decided_ms is null while a case is open.
CREATE TABLE report_cases (
    id BIGINT NOT NULL PRIMARY KEY,
    target_kind TEXT NOT NULL,
    target_id BIGINT NOT NULL,
    channel_id BIGINT,
    guild_id BIGINT,
    user_id BIGINT,
    title TEXT NOT NULL,
    assignee_id BIGINT,
    report_count INTEGER NOT NULL,
    action TEXT,
    note TEXT,
    operator_id BIGINT,
    decided_ms BIGINT,
    decision_id BIGINT
);
CREATE UNIQUE INDEX report_cases_open ON report_cases (target_kind, target_id) WHERE decided_ms IS NULL;
CREATE INDEX report_cases_decided ON report_cases (decided_ms, id);
CREATE INDEX report_cases_user ON report_cases (user_id, id);

-- Reports of users. evidence is JSON: the target as the reporter saw it. reporter_id is null after the deletion of the reporter's account.
CREATE TABLE reports (
    id BIGINT NOT NULL PRIMARY KEY,
    case_id BIGINT NOT NULL,
    reporter_id BIGINT,
    reason TEXT NOT NULL,
    comment TEXT NOT NULL,
    evidence TEXT NOT NULL
);
CREATE INDEX reports_case ON reports (case_id, id);
CREATE INDEX reports_reporter ON reports (reporter_id, id);

-- Joins of the last hour, for the limits of new accounts and the detection of raids (decisions/0138). Empty if both are off.
CREATE TABLE recent_joins (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (guild_id, joined_ms, user_id)
) {without_rowid};
CREATE INDEX recent_joins_user ON recent_joins (user_id, joined_ms);
