-- Where the paths of an activity lead, in the order in which they are tried.
CREATE TABLE activity_url_mappings (
    application_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    prefix TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (application_id, position)
);

-- Links that open an activity: those that players make for a while (type 1), and those that its owner keeps (type 0).
CREATE TABLE activity_links (
    id BIGINT PRIMARY KEY,
    application_id BIGINT NOT NULL,
    type BIGINT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    custom_id TEXT,
    image TEXT NOT NULL,
    expires_ms BIGINT
);
CREATE INDEX activity_links_application ON activity_links (application_id, type, id);
