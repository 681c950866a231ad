-- What users are to each other, once from each side: 1 friend, 2 blocked, 3 asked by the other, 4 asked the other.
-- family_id is 0 for the platform; a game's relationships live at the head of its family of applications.
CREATE TABLE relationships (
    user_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    other_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    nickname TEXT,
    application_id BIGINT,
    since_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, family_id, other_id)
) {without_rowid};
CREATE INDEX relationships_other ON relationships (other_id, type);
CREATE INDEX relationships_family ON relationships (family_id) WHERE family_id <> 0;
