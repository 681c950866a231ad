-- Cache of link previews (decisions/0142). url_hash is the SHA-256 of the link without its fragment, embed the JSON of the embed, null for a
-- link without a preview.
CREATE TABLE link_previews (
    url_hash TEXT NOT NULL PRIMARY KEY,
    embed TEXT,
    expires_ms BIGINT NOT NULL
) {without_rowid};
CREATE INDEX link_previews_expiry ON link_previews (expires_ms);
