-- Where the paths of an activity lead, in the order in which they are tried.
CREATE TABLE activity_url_mappings (
    application_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    prefix TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (application_id, position)
);
