-- Publishers: a game that belongs to one has its application as parent. Accounts, identities and game friends live at the head
-- of the family, which is the parent, or the application itself where it has none.
ALTER TABLE applications ADD COLUMN parent_id BIGINT;
CREATE INDEX applications_parent ON applications (parent_id) WHERE parent_id IS NOT NULL;
