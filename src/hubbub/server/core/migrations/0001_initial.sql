-- Initial schema of release 0.1.0. Released files never change: later changes are new numbered files.


-- Store
-- -----

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

-- due_ms orders the jobs of one key. ready_ms is the earliest time a job may be claimed: its due time, the end of a lease, or a retry.
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
CREATE INDEX jobs_failed ON jobs (kind, id) WHERE state = 'failed';


-- Users, accounts and tokens
-- --------------------------

CREATE TABLE users (
    id BIGINT NOT NULL PRIMARY KEY,
    username TEXT NOT NULL,
    discriminator TEXT NOT NULL DEFAULT '0',
    global_name TEXT,
    avatar TEXT,
    banner TEXT,
    accent_color BIGINT,
    bio TEXT NOT NULL DEFAULT '',
    bot INTEGER NOT NULL DEFAULT 0,
    system INTEGER NOT NULL DEFAULT 0,
    flags BIGINT NOT NULL DEFAULT 0,
    public_flags BIGINT NOT NULL DEFAULT 0,
    premium_type INTEGER NOT NULL DEFAULT 0,
    locale TEXT NOT NULL DEFAULT 'en-US',
    email TEXT,
    verified INTEGER NOT NULL DEFAULT 0,
    mfa_enabled INTEGER NOT NULL DEFAULT 0,
    primary_guild TEXT,
    primary_guild_id BIGINT
);
CREATE UNIQUE INDEX users_username ON users (username) WHERE bot = 0;
CREATE UNIQUE INDEX users_email ON users (email) WHERE email IS NOT NULL;
CREATE INDEX users_primary_guild ON users (primary_guild_id) WHERE primary_guild_id IS NOT NULL;

-- Passwords of users. Bots have no row.
CREATE TABLE accounts (
    user_id BIGINT NOT NULL PRIMARY KEY,
    password_hash TEXT NOT NULL,
    changed_ms BIGINT NOT NULL
);

-- How a login token was obtained. A token without a row has no recorded login.
CREATE TABLE sign_ins (
    token_id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    ip TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);

-- Failed passwords and codes, counted per time window. The key is a hash because users sometimes type a password into the name field.
CREATE TABLE sign_in_failures (
    key TEXT NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    ends_ms BIGINT NOT NULL
);
CREATE INDEX sign_in_failures_ends ON sign_in_failures (ends_ms);

-- TOTP authenticators. last_step is the time step of the last accepted code, so that no code works twice.
CREATE TABLE authenticators (
    user_id BIGINT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL,
    last_step BIGINT NOT NULL
);

CREATE TABLE backup_codes (
    user_id BIGINT NOT NULL,
    hash {blob} NOT NULL,
    PRIMARY KEY (user_id, hash)
) {without_rowid};

-- Logins with a correct password that still require a second factor.
CREATE TABLE mfa_tickets (
    hash {blob} NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX mfa_tickets_expires ON mfa_tickets (expires_ms);

-- Accounts banned by the operator. ends_ms is null for a permanent ban.
CREATE TABLE account_bans (
    user_id BIGINT NOT NULL PRIMARY KEY,
    reason TEXT,
    created_ms BIGINT NOT NULL,
    ends_ms BIGINT
);

-- Settings of a user as JSON. A user with default settings has no row.
CREATE TABLE user_settings (
    user_id BIGINT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL
);

-- Access tokens, stored as the SHA-256 of the token text. parent_id is the publisher token that a child token was derived from.
-- A child token ends with its parent.
CREATE TABLE tokens (
    hash {blob} NOT NULL PRIMARY KEY,
    id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    application_id BIGINT,
    scopes TEXT NOT NULL DEFAULT '',
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    parent_id BIGINT
);
CREATE INDEX tokens_user ON tokens (user_id, kind);
CREATE INDEX tokens_parent ON tokens (parent_id) WHERE parent_id IS NOT NULL;
-- Finds expired tokens of a user, which are deleted when the user gets a new one.
CREATE INDEX tokens_ends ON tokens (user_id, expires_ms) WHERE expires_ms IS NOT NULL;


-- Applications, OAuth2 and installations
-- --------------------------------------

-- parent_id is the publisher's application. Accounts, identities and game friends belong to the head of the family: the parent, or
-- the application itself if it has no parent. obfuscates_channels is the toggle "Private Channel Obfuscation".
CREATE TABLE applications (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    icon TEXT,
    cover_image TEXT,
    owner_id BIGINT NOT NULL,
    bot_id BIGINT,
    flags BIGINT NOT NULL DEFAULT 0,
    bot_public INTEGER NOT NULL DEFAULT 1,
    bot_require_code_grant INTEGER NOT NULL DEFAULT 0,
    signing_key {blob} NOT NULL,
    verify_key TEXT NOT NULL,
    client_secret_hash {blob},
    redirect_uris TEXT NOT NULL DEFAULT '[]',
    tags TEXT NOT NULL DEFAULT '[]',
    integration_types_config TEXT NOT NULL DEFAULT '{}',
    settings TEXT NOT NULL DEFAULT '{}',
    parent_id BIGINT,
    obfuscates_channels INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX applications_bot ON applications (bot_id) WHERE bot_id IS NOT NULL;
CREATE INDEX applications_owner ON applications (owner_id);
CREATE INDEX applications_parent ON applications (parent_id) WHERE parent_id IS NOT NULL;

-- state: 1 invited, 2 accepted.
CREATE TABLE application_testers (
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    state INTEGER NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (application_id, user_id)
);
CREATE INDEX application_testers_user ON application_testers (user_id);

-- Requests to the operator for scopes and privileged intents. Granted scopes are in approved_scopes, granted intents in the flags of
-- the application. ends_ms is the time by which a grant must be renewed.
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

-- Images for rich presence, referenced by name.
CREATE TABLE application_assets (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    type INTEGER NOT NULL,
    image TEXT NOT NULL
);
CREATE UNIQUE INDEX application_assets_name ON application_assets (application_id, name);

-- Restricted scopes that the operator approved for an application.
CREATE TABLE approved_scopes (
    application_id BIGINT NOT NULL,
    scope TEXT NOT NULL,
    PRIMARY KEY (application_id, scope)
) {without_rowid};

-- Scopes that a user has granted to an application. Umbrella scopes are stored under the requested name.
CREATE TABLE authorizations (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX authorizations_user ON authorizations (user_id, application_id);
CREATE INDEX authorizations_application ON authorizations (application_id);

-- Codes are stored as SHA-256. family_id is set when the code is exchanged; a second exchange revokes that family.
CREATE TABLE authorization_codes (
    hash {blob} NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    redirect_sent INTEGER NOT NULL,
    code_challenge TEXT,
    nonce TEXT,
    guild_id BIGINT,
    permissions BIGINT NOT NULL DEFAULT 0,
    installs INTEGER NOT NULL DEFAULT 0,
    webhook_channel_id BIGINT,
    expires_ms BIGINT NOT NULL,
    family_id BIGINT
);
CREATE INDEX authorization_codes_user ON authorization_codes (user_id, application_id);
CREATE INDEX authorization_codes_expires ON authorization_codes (expires_ms);

-- All tokens that rotate from one grant form a family; family_id is also the id of each access token of the family, so that a gateway
-- session survives a refresh and ends with the family. Used refresh tokens are kept for a while to detect replay.
CREATE TABLE refresh_tokens (
    hash {blob} NOT NULL PRIMARY KEY,
    family_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    used_ms BIGINT
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_user ON refresh_tokens (user_id, application_id);

-- state: pending, granted or denied.
CREATE TABLE device_codes (
    hash {blob} NOT NULL PRIMARY KEY,
    user_code TEXT NOT NULL,
    application_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    user_id BIGINT,
    interval_seconds INTEGER NOT NULL,
    polled_ms BIGINT NOT NULL DEFAULT 0,
    expires_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX device_codes_user_code ON device_codes (user_code);
CREATE INDEX device_codes_expires ON device_codes (expires_ms);

-- ID token signing keys as JWK. The newest key signs; older keys stay published until the tokens they signed have expired.
CREATE TABLE signing_keys (
    kid TEXT NOT NULL PRIMARY KEY,
    jwk TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);

-- integration_type: 0 installed in a guild, 1 installed for a user. target_id is the id of that guild or user.
CREATE TABLE installations (
    application_id BIGINT NOT NULL,
    integration_type INTEGER NOT NULL,
    target_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (application_id, integration_type, target_id)
) {without_rowid};
CREATE INDEX installations_target ON installations (target_id);


-- External identities, connections and role connections
-- -----------------------------------------------------

-- Identities at external providers. family_id is the head of the application family. provider_id is the issuer for provider types
-- with several issuers, and empty otherwise.
CREATE TABLE external_identities (
    family_id BIGINT NOT NULL,
    provider_type TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    provider_user_id TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    username TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (family_id, provider_type, provider_id, provider_user_id)
) {without_rowid};
CREATE INDEX external_identities_user ON external_identities (user_id, family_id);

-- restricted_by is the banned account that this provisional account replaced.
CREATE TABLE provisional_accounts (
    user_id BIGINT NOT NULL PRIMARY KEY,
    family_id BIGINT NOT NULL,
    restricted_by BIGINT,
    created_ms BIGINT NOT NULL
);
CREATE INDEX provisional_accounts_family ON provisional_accounts (family_id);

-- Identity providers that an application trusts. settings is JSON. level 0 was saved before issuers were validated.
CREATE TABLE identity_providers (
    application_id BIGINT NOT NULL,
    type TEXT NOT NULL,
    settings TEXT NOT NULL,
    level INTEGER NOT NULL,
    changed_ms BIGINT NOT NULL,
    PRIMARY KEY (application_id, type)
) {without_rowid};

-- Completed account merges, used to limit merges per day.
CREATE TABLE merge_operations (
    id BIGINT NOT NULL PRIMARY KEY,
    family_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    source_user_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE INDEX merge_operations_user ON merge_operations (user_id, created_ms);

-- External accounts of a user. publisher_scheme is 'new' or 'legacy' for connections that a publisher may hide.
CREATE TABLE connections (
    user_id BIGINT NOT NULL,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT,
    verified INTEGER NOT NULL DEFAULT 0,
    friend_sync INTEGER NOT NULL DEFAULT 0,
    show_activity INTEGER NOT NULL DEFAULT 0,
    two_way_link INTEGER NOT NULL DEFAULT 0,
    visibility INTEGER NOT NULL DEFAULT 0,
    revoked INTEGER NOT NULL DEFAULT 0,
    publisher_scheme TEXT NOT NULL DEFAULT 'legacy',
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, type, id)
) {without_rowid};

-- Metadata fields that an application defines, as JSON.
CREATE TABLE role_connection_metadata (
    application_id BIGINT NOT NULL PRIMARY KEY,
    records TEXT NOT NULL
);

-- Metadata values of one user.
CREATE TABLE role_connections (
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    platform_name TEXT,
    platform_username TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, application_id)
) {without_rowid};

-- Roles granted by role connections. requirements is JSON: a list of alternatives, each a list of conditions.
CREATE TABLE linked_roles (
    role_id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    configuration TEXT NOT NULL
);
CREATE INDEX linked_roles_guild ON linked_roles (guild_id);


-- Guilds, roles and members
-- -------------------------

-- moderated is a bit set of what the enabled auto moderation rules check: 1 messages, 2 member names. It is loaded together with the
-- author, so that guilds without rules need no further query.
CREATE TABLE guilds (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    owner_id BIGINT NOT NULL,
    application_id BIGINT,
    icon TEXT,
    splash TEXT,
    discovery_splash TEXT,
    banner TEXT,
    description TEXT,
    afk_channel_id BIGINT,
    afk_timeout INTEGER NOT NULL DEFAULT 300,
    verification_level INTEGER NOT NULL DEFAULT 0,
    default_message_notifications INTEGER NOT NULL DEFAULT 0,
    explicit_content_filter INTEGER NOT NULL DEFAULT 0,
    mfa_level INTEGER NOT NULL DEFAULT 0,
    nsfw_level INTEGER NOT NULL DEFAULT 0,
    system_channel_id BIGINT,
    system_channel_flags INTEGER NOT NULL DEFAULT 0,
    rules_channel_id BIGINT,
    public_updates_channel_id BIGINT,
    safety_alerts_channel_id BIGINT,
    preferred_locale TEXT NOT NULL DEFAULT 'en-US',
    premium_tier INTEGER NOT NULL DEFAULT 0,
    premium_subscription_count INTEGER NOT NULL DEFAULT 0,
    premium_progress_bar_enabled INTEGER NOT NULL DEFAULT 0,
    vanity_url_code TEXT,
    features TEXT NOT NULL DEFAULT '[]',
    widget_enabled INTEGER NOT NULL DEFAULT 0,
    widget_channel_id BIGINT,
    incidents TEXT,
    member_count INTEGER NOT NULL DEFAULT 0,
    moderated INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE roles (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    permissions BIGINT NOT NULL,
    position INTEGER NOT NULL,
    color INTEGER NOT NULL DEFAULT 0,
    secondary_color INTEGER,
    tertiary_color INTEGER,
    hoist INTEGER NOT NULL DEFAULT 0,
    icon TEXT,
    unicode_emoji TEXT,
    managed INTEGER NOT NULL DEFAULT 0,
    mentionable INTEGER NOT NULL DEFAULT 0,
    flags INTEGER NOT NULL DEFAULT 0,
    tags TEXT
);
CREATE INDEX roles_guild ON roles (guild_id);

CREATE TABLE members (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    nick TEXT,
    avatar TEXT,
    banner TEXT,
    bio TEXT NOT NULL DEFAULT '',
    joined_ms BIGINT NOT NULL,
    premium_since_ms BIGINT,
    deaf INTEGER NOT NULL DEFAULT 0,
    mute INTEGER NOT NULL DEFAULT 0,
    pending INTEGER NOT NULL DEFAULT 0,
    flags BIGINT NOT NULL DEFAULT 0,
    timed_out_until_ms BIGINT NOT NULL DEFAULT 0,
    temporary INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (guild_id, user_id)
) {without_rowid};
CREATE INDEX members_user ON members (user_id);
CREATE INDEX members_pending ON members (guild_id) WHERE pending = 1;

CREATE TABLE member_roles (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    PRIMARY KEY (guild_id, user_id, role_id)
) {without_rowid};
CREATE INDEX member_roles_role ON member_roles (role_id);

CREATE TABLE bans (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    reason TEXT,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (guild_id, user_id)
) {without_rowid};

CREATE TABLE audit_log (
    guild_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    user_id BIGINT,
    target_id BIGINT,
    action_type INTEGER NOT NULL,
    changes TEXT,
    options TEXT,
    reason TEXT,
    PRIMARY KEY (guild_id, id)
) {without_rowid};

CREATE TABLE invites (
    code TEXT NOT NULL PRIMARY KEY,
    guild_id BIGINT,
    channel_id BIGINT NOT NULL,
    inviter_id BIGINT,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    max_age INTEGER NOT NULL,
    max_uses INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    temporary INTEGER NOT NULL DEFAULT 0,
    flags INTEGER NOT NULL DEFAULT 0,
    target_type INTEGER,
    target_user_id BIGINT,
    target_application_id BIGINT,
    role_ids TEXT NOT NULL DEFAULT '[]',
    targets TEXT
);
CREATE INDEX invites_guild ON invites (guild_id);
CREATE INDEX invites_channel ON invites (channel_id);

CREATE TABLE invite_targets (
    code TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    PRIMARY KEY (code, user_id)
) {without_rowid};

CREATE TABLE guild_templates (
    code TEXT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    usage_count INTEGER NOT NULL DEFAULT 0,
    creator_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    snapshot TEXT NOT NULL
);
CREATE UNIQUE INDEX guild_templates_guild ON guild_templates (guild_id);

CREATE TABLE welcome_screens (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    description TEXT,
    channels TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE guild_homes (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL
);

CREATE TABLE onboardings (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    enabled INTEGER NOT NULL DEFAULT 0,
    mode INTEGER NOT NULL DEFAULT 0,
    default_channel_ids TEXT NOT NULL DEFAULT '[]',
    prompts TEXT NOT NULL DEFAULT '[]'
);

-- Selected onboarding options of a member, as a JSON list of option ids.
CREATE TABLE onboarding_answers (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    option_ids TEXT NOT NULL,
    PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX onboarding_answers_user ON onboarding_answers (user_id);

-- Codes are stored in lower case.
CREATE TABLE vanity_urls (
    code TEXT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX vanity_urls_guild ON vanity_urls (guild_id);

-- Invites that guild widgets display.
CREATE TABLE widget_invites (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    code TEXT NOT NULL
);

CREATE TABLE member_verification_forms (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    version_ms BIGINT NOT NULL,
    description TEXT,
    fields TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE join_requests (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    reviewed_ms BIGINT,
    rejection_reason TEXT,
    responses TEXT NOT NULL DEFAULT '[]',
    actioned_by BIGINT
);
CREATE UNIQUE INDEX join_requests_user ON join_requests (guild_id, user_id);
CREATE INDEX join_requests_status ON join_requests (guild_id, status, id);

-- Tags that members of a guild may display beside their name.
CREATE TABLE guild_tags (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    tag TEXT NOT NULL,
    badge TEXT
);


-- Expressions
-- -----------

-- image is the hash of an image in the file store.
CREATE TABLE emojis (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT,
    application_id BIGINT,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    image TEXT NOT NULL,
    animated INTEGER NOT NULL DEFAULT 0,
    roles TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX emojis_guild ON emojis (guild_id) WHERE guild_id IS NOT NULL;
CREATE INDEX emojis_application ON emojis (application_id) WHERE application_id IS NOT NULL;

-- image is the hash of an image in the file store.
CREATE TABLE stickers (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    tags TEXT NOT NULL,
    format_type INTEGER NOT NULL,
    image TEXT NOT NULL
);
CREATE INDEX stickers_guild ON stickers (guild_id);

-- file is the hash of a sound in the file store.
CREATE TABLE sounds (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    volume DOUBLE PRECISION NOT NULL DEFAULT 1,
    emoji_id BIGINT,
    emoji_name TEXT,
    file TEXT NOT NULL
);
CREATE INDEX sounds_guild ON sounds (guild_id);


-- Channels and threads
-- --------------------

-- Guild channels, threads, direct messages and group direct messages. last_message_id is computed from messages, so that creating a
-- message does not write this table. linked_lobby is the linked lobby as JSON.
CREATE TABLE channels (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT,
    type INTEGER NOT NULL,
    name TEXT,
    topic TEXT,
    position INTEGER NOT NULL DEFAULT 0,
    parent_id BIGINT,
    nsfw INTEGER NOT NULL DEFAULT 0,
    rate_limit_per_user INTEGER NOT NULL DEFAULT 0,
    bitrate INTEGER,
    user_limit INTEGER,
    rtc_region TEXT,
    video_quality_mode INTEGER,
    default_auto_archive_duration INTEGER,
    default_thread_rate_limit_per_user INTEGER,
    default_sort_order INTEGER,
    default_forum_layout INTEGER,
    default_tag_setting TEXT,
    default_reaction_emoji TEXT,
    available_tags TEXT,
    flags BIGINT NOT NULL DEFAULT 0,
    icon TEXT,
    owner_id BIGINT,
    application_id BIGINT,
    last_pin_ms BIGINT,
    archived INTEGER NOT NULL DEFAULT 0,
    archive_changed_ms BIGINT,
    auto_archive_duration INTEGER,
    locked INTEGER NOT NULL DEFAULT 0,
    invitable INTEGER,
    message_count INTEGER NOT NULL DEFAULT 0,
    total_message_sent INTEGER NOT NULL DEFAULT 0,
    member_count INTEGER NOT NULL DEFAULT 0,
    applied_tags TEXT,
    created_ms BIGINT,
    linked_lobby TEXT
);
CREATE INDEX channels_guild ON channels (guild_id, type) WHERE guild_id IS NOT NULL;
CREATE INDEX channels_parent ON channels (parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TABLE overwrites (
    channel_id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    allow BIGINT NOT NULL,
    deny BIGINT NOT NULL,
    PRIMARY KEY (channel_id, target_id)
) {without_rowid};
CREATE INDEX overwrites_target ON overwrites (target_id);

CREATE TABLE thread_members (
    thread_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    joined_ms BIGINT NOT NULL,
    flags INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread_id, user_id)
) {without_rowid};
CREATE INDEX thread_members_user ON thread_members (user_id);

-- Recipients of direct and group direct message channels.
CREATE TABLE recipients (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    nick TEXT,
    hidden INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, user_id)
) {without_rowid};
CREATE INDEX recipients_user ON recipients (user_id);

-- The direct message channel of two users, lower user id first.
CREATE TABLE direct_messages (
    lower_id BIGINT NOT NULL,
    higher_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (lower_id, higher_id)
) {without_rowid};


-- Messages
-- --------

-- Times are Unix milliseconds, booleans are 0 or 1, and JSON is stored as text, here and in all other tables.
CREATE TABLE messages (
    channel_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    author_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    flags BIGINT NOT NULL,
    content TEXT NOT NULL,
    tts INTEGER NOT NULL DEFAULT 0,
    edited_ms BIGINT,
    pinned_ms BIGINT,
    mention_everyone INTEGER NOT NULL DEFAULT 0,
    mentions TEXT,
    mention_roles TEXT,
    attachments TEXT,
    embeds TEXT,
    components TEXT,
    reference TEXT,
    snapshots TEXT,
    webhook_id BIGINT,
    application_id BIGINT,
    reacted INTEGER NOT NULL DEFAULT 0,
    extra TEXT,
    PRIMARY KEY (channel_id, id)
) {without_rowid};
CREATE INDEX messages_pinned ON messages (channel_id, pinned_ms) WHERE pinned_ms IS NOT NULL;
CREATE INDEX messages_author ON messages (author_id, id);

-- Messages that only the invoking user and the application can see. The columns equal those of messages.
CREATE TABLE ephemeral_messages (
    channel_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    author_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    flags BIGINT NOT NULL,
    content TEXT NOT NULL,
    tts INTEGER NOT NULL DEFAULT 0,
    edited_ms BIGINT,
    pinned_ms BIGINT,
    mention_everyone INTEGER NOT NULL DEFAULT 0,
    mentions TEXT,
    mention_roles TEXT,
    attachments TEXT,
    embeds TEXT,
    components TEXT,
    reference TEXT,
    snapshots TEXT,
    webhook_id BIGINT,
    application_id BIGINT,
    reacted INTEGER NOT NULL DEFAULT 0,
    extra TEXT,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (channel_id, id)
) {without_rowid};
CREATE INDEX ephemeral_messages_expiry ON ephemeral_messages (expires_ms);

-- Nonces of recent messages for enforce_nonce. Rows are deleted when they expire.
CREATE TABLE message_nonces (
    author_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    nonce TEXT NOT NULL,
    message_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (author_id, channel_id, nonce)
) {without_rowid};
CREATE INDEX message_nonces_created ON message_nonces (created_ms);

-- Time of the last message and the last created thread of a user in a channel with slow mode.
CREATE TABLE quotas (
    owner_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    slot TEXT NOT NULL,
    last_ms BIGINT NOT NULL,
    PRIMARY KEY (owner_id, user_id, slot)
) {without_rowid};

CREATE TABLE slowmodes (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    last_ms BIGINT NOT NULL,
    PRIMARY KEY (channel_id, user_id, kind)
) {without_rowid};

CREATE TABLE reactions (
    message_id BIGINT NOT NULL,
    emoji TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    burst INTEGER NOT NULL DEFAULT 0,
    emoji_id BIGINT,
    emoji_name TEXT NOT NULL,
    animated INTEGER NOT NULL DEFAULT 0,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (message_id, emoji, user_id, burst)
) {without_rowid};

CREATE TABLE poll_votes (
    message_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    answer_id INTEGER NOT NULL,
    PRIMARY KEY (message_id, user_id, answer_id)
) {without_rowid};
CREATE INDEX poll_votes_answer ON poll_votes (message_id, answer_id, user_id);

-- Number of votes per answer, maintained on write so that reading a poll does not count votes.
CREATE TABLE poll_counts (
    message_id BIGINT NOT NULL,
    answer_id INTEGER NOT NULL,
    votes BIGINT NOT NULL,
    PRIMARY KEY (message_id, answer_id)
) {without_rowid};

-- Incoming and channel follower webhooks. The token is not stored: it is derived from the id, the salt and a key in meta.
CREATE TABLE webhooks (
    id BIGINT NOT NULL PRIMARY KEY,
    type INTEGER NOT NULL,
    guild_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    user_id BIGINT,
    name TEXT NOT NULL,
    avatar TEXT,
    application_id BIGINT,
    salt TEXT,
    source_guild_id BIGINT,
    source_channel_id BIGINT
);
CREATE INDEX webhooks_guild ON webhooks (guild_id);
CREATE INDEX webhooks_channel ON webhooks (channel_id);
CREATE INDEX webhooks_source ON webhooks (source_channel_id, id) WHERE source_channel_id IS NOT NULL;

-- Copies of a published message in the channels that follow the announcement channel.
CREATE TABLE crossposts (
    source_channel_id BIGINT NOT NULL,
    source_message_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (source_channel_id, source_message_id, message_id)
) {without_rowid};
CREATE INDEX crossposts_copy ON crossposts (channel_id, message_id);

-- Id of the last message that a user has read in a channel.
CREATE TABLE read_states (
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    last_message_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, channel_id)
) {without_rowid};
CREATE INDEX read_states_channel ON read_states (channel_id);


-- Search index
-- ------------

-- Indexed guilds. pending is 1 while an indexing job is scheduled.
CREATE TABLE search_guilds (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    pending INTEGER NOT NULL DEFAULT 0
);

-- Guilds whose existing messages are still being indexed, with the number of indexed documents.
CREATE TABLE search_builds (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    documents BIGINT NOT NULL DEFAULT 0
);

-- Messages created, updated or deleted since the last indexing job.
CREATE TABLE search_changes (
    guild_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (guild_id, message_id)
) {without_rowid};

-- Indexed messages: words is the text, marks encodes all other searchable properties.
CREATE TABLE search_documents (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    words TEXT NOT NULL,
    marks TEXT NOT NULL
) {without_rowid};
CREATE INDEX search_documents_channel ON search_documents (channel_id, id);
-- only: postgres
ALTER TABLE search_documents ADD COLUMN terms TSVECTOR NOT NULL;
-- only: postgres
CREATE INDEX search_documents_terms ON search_documents USING GIN (terms);
-- only: postgres
CREATE INDEX search_documents_guild ON search_documents (guild_id, id);

-- Terms are split in Python, identically for both stores. The SQLite index is contentless; search_documents has the text.
-- only: sqlite
CREATE VIRTUAL TABLE search_terms USING fts5(terms, content='', tokenize="ascii tokenchars '_'");


-- Auto moderation
-- ---------------

-- Trigger metadata, actions and exemptions are JSON.
CREATE TABLE auto_moderation_rules (
    guild_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    creator_id BIGINT NOT NULL,
    event_type INTEGER NOT NULL,
    trigger_type INTEGER NOT NULL,
    trigger_metadata TEXT NOT NULL,
    actions TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    exempt_roles TEXT NOT NULL,
    exempt_channels TEXT NOT NULL,
    PRIMARY KEY (guild_id, id)
) {without_rowid};

-- Mentions per user in guilds with mention raid protection. Rows are deleted when the window ends.
CREATE TABLE mention_counts (
    guild_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    mentions INTEGER NOT NULL,
    PRIMARY KEY (guild_id, message_id)
) {without_rowid};


-- Scheduled events and stages
-- ---------------------------

-- opened_by is the author of the system message that is sent when the stage ends automatically.
CREATE TABLE stage_instances (
    channel_id BIGINT NOT NULL PRIMARY KEY,
    id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    topic TEXT NOT NULL,
    privacy_level INTEGER NOT NULL,
    scheduled_event_id BIGINT,
    opened_by BIGINT
);
CREATE INDEX stage_instances_guild ON stage_instances (guild_id);

CREATE TABLE scheduled_events (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    creator_id BIGINT,
    name TEXT NOT NULL,
    start_ms BIGINT NOT NULL,
    end_ms BIGINT,
    entity_type INTEGER NOT NULL,
    status INTEGER NOT NULL DEFAULT 1,
    channel_id BIGINT,
    entity_id BIGINT,
    location TEXT,
    description TEXT,
    image TEXT,
    recurrence TEXT
);
CREATE INDEX scheduled_events_guild ON scheduled_events (guild_id, status);
CREATE INDEX scheduled_events_channel ON scheduled_events (channel_id) WHERE channel_id IS NOT NULL;

-- One occurrence of a recurring event that differs from the recurrence rule. The id is the snowflake of the regular start time.
CREATE TABLE scheduled_event_exceptions (
    event_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    start_ms BIGINT,
    end_ms BIGINT,
    canceled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, id)
) {without_rowid};

-- Interested users. exception_id is 0 for the whole event, otherwise the response concerns one occurrence.
CREATE TABLE scheduled_event_users (
    event_id BIGINT NOT NULL,
    exception_id BIGINT NOT NULL DEFAULT 0,
    user_id BIGINT NOT NULL,
    response INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (event_id, exception_id, user_id)
) {without_rowid};
CREATE INDEX scheduled_event_users_user ON scheduled_event_users (user_id);


-- Voice
-- -----

CREATE TABLE voice_states (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    self_deaf INTEGER NOT NULL DEFAULT 0,
    self_mute INTEGER NOT NULL DEFAULT 0,
    self_video INTEGER NOT NULL DEFAULT 0,
    self_stream INTEGER NOT NULL DEFAULT 0,
    suppress INTEGER NOT NULL DEFAULT 0,
    request_to_speak_ms BIGINT,
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (guild_id, user_id)
) {without_rowid};
CREATE INDEX voice_states_channel ON voice_states (channel_id);
-- A user is in at most one voice channel.
CREATE INDEX voice_states_user ON voice_states (user_id);

-- Ephemeral properties of voice channels that are not part of the channel object.
CREATE TABLE voice_channels (
    channel_id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    status TEXT,
    started_ms BIGINT
);

-- Credentials for the voice server. A new ticket is issued at each join, move and takeover, for one user, session and channel.
-- server_id is the id of the guild, the lobby or the private channel ("server" in the voice protocol).
CREATE TABLE voice_tickets (
    server_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    token_hash {blob} NOT NULL,
    server TEXT,
    PRIMARY KEY (server_id, user_id)
) {without_rowid};
CREATE UNIQUE INDEX voice_tickets_token ON voice_tickets (token_hash);
CREATE INDEX voice_tickets_channel ON voice_tickets (channel_id);
CREATE INDEX voice_tickets_server ON voice_tickets (server);

-- Voice server processes and the time each was last seen.
CREATE TABLE voice_servers (
    endpoint TEXT NOT NULL PRIMARY KEY,
    seen_ms BIGINT NOT NULL
);

-- Connections that the voice server rejected. They delay the next join.
CREATE TABLE voice_failures (
    server_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    failures INTEGER NOT NULL,
    failed_ms BIGINT NOT NULL,
    PRIMARY KEY (server_id, user_id)
) {without_rowid};

-- Participants of calls outside guilds. kind: 1 lobby, 2 private channel. call_id is the id of that lobby or channel.
CREATE TABLE call_states (
    call_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    kind INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    self_deaf INTEGER NOT NULL DEFAULT 0,
    self_mute INTEGER NOT NULL DEFAULT 0,
    self_video INTEGER NOT NULL DEFAULT 0,
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (call_id, user_id)
) {without_rowid};
CREATE INDEX call_states_user ON call_states (user_id);

-- Active calls of private channels, with the id of the call message.
CREATE TABLE private_calls (
    channel_id BIGINT NOT NULL PRIMARY KEY,
    message_id BIGINT NOT NULL
);

-- Users that a private call is ringing, and when ringing ends.
CREATE TABLE private_call_rings (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    ends_ms BIGINT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) {without_rowid};


-- Commands and interactions
-- -------------------------

-- guild_id is 0 for global commands. definition is JSON of all columns that are never queried.
CREATE TABLE commands (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    guild_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    position INTEGER NOT NULL,
    definition TEXT NOT NULL
);
CREATE UNIQUE INDEX commands_name ON commands (application_id, guild_id, type, name);
CREATE INDEX commands_guild ON commands (guild_id) WHERE guild_id <> 0;

-- Permissions of a command in a guild, as JSON. target_id equal to the application id applies to all of its commands.
CREATE TABLE command_permissions (
    guild_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    permissions TEXT NOT NULL,
    PRIMARY KEY (guild_id, application_id, target_id)
) {without_rowid};
CREATE INDEX command_permissions_target ON command_permissions (target_id);

-- Interactions, kept while their token is valid. asked is JSON of the request data that responses need; modal is JSON of the components
-- of the modal that was opened; problem is the delivery error shown to the owner of the application. On SQLite the integer
-- primary key makes inserts appends.
-- only: sqlite
CREATE TABLE interactions (
    id INTEGER PRIMARY KEY,
    token_hash BLOB NOT NULL,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    asked TEXT NOT NULL,
    callback_type INTEGER,
    original_id BIGINT,
    follow_ups INTEGER NOT NULL DEFAULT 0,
    modal TEXT,
    problem TEXT
);
-- only: postgres
CREATE TABLE interactions (
    id BIGINT NOT NULL PRIMARY KEY,
    token_hash BYTEA NOT NULL,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    asked TEXT NOT NULL,
    callback_type INTEGER,
    original_id BIGINT,
    follow_ups INTEGER NOT NULL DEFAULT 0,
    modal TEXT,
    problem TEXT
);
CREATE INDEX interactions_problem ON interactions (application_id, id) WHERE problem IS NOT NULL;


-- Monetization
-- ------------

-- state: 0 unpublished, 1 published, 2 deleted. flags stores only the type flags; AVAILABLE is derived from state.
CREATE TABLE skus (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    flags INTEGER NOT NULL,
    price BIGINT NOT NULL,
    currency TEXT NOT NULL,
    state INTEGER NOT NULL,
    listed INTEGER NOT NULL,
    group_id BIGINT
);
CREATE INDEX skus_application ON skus (application_id, id);

-- user_id is the buyer or creator. If guild_id is set, the guild owns the benefit.
CREATE TABLE entitlements (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    sku_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    guild_id BIGINT,
    type INTEGER NOT NULL,
    starts_ms BIGINT,
    ends_ms BIGINT,
    consumed INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    is_test INTEGER NOT NULL DEFAULT 0,
    subscription_id BIGINT
);
CREATE INDEX entitlements_application ON entitlements (application_id, id);
CREATE INDEX entitlements_user ON entitlements (user_id, application_id);
CREATE INDEX entitlements_guild ON entitlements (guild_id, application_id) WHERE guild_id IS NOT NULL;

-- anchor_day is the day of the month on which the subscription renews; shorter months renew on their last day.
CREATE TABLE subscriptions (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    guild_id BIGINT,
    sku_id BIGINT NOT NULL,
    renewal_sku_id BIGINT NOT NULL,
    entitlement_id BIGINT,
    period_start_ms BIGINT NOT NULL,
    period_end_ms BIGINT NOT NULL,
    anchor_day INTEGER NOT NULL,
    status INTEGER NOT NULL,
    canceled_ms BIGINT
);
CREATE INDEX subscriptions_sku ON subscriptions (sku_id, id);
CREATE INDEX subscriptions_user ON subscriptions (user_id, application_id);
CREATE INDEX subscriptions_guild ON subscriptions (guild_id, application_id) WHERE guild_id IS NOT NULL;

-- Purchases are stored before payment, so that a paid purchase is never lost. state: 0 pending, 1 done, 2 declined.
CREATE TABLE purchases (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    guild_id BIGINT,
    sku_id BIGINT NOT NULL,
    subscription_id BIGINT,
    state INTEGER NOT NULL,
    entitlement_id BIGINT
);
CREATE INDEX purchases_pending ON purchases (user_id, application_id) WHERE state = 0;

-- Payments are stored before the provider is called, so that a retry sends the same charge and a refund is possible.
-- state: 0 requested, 1 charged, 2 refund requested, 3 refunded, 4 refund rejected. Declined payments are deleted.
CREATE TABLE payments (
    key TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    sku_id BIGINT NOT NULL,
    guild_id BIGINT,
    subscription_id BIGINT,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    asked_ms BIGINT NOT NULL,
    state INTEGER NOT NULL,
    entitlement_id BIGINT
);
CREATE INDEX payments_entitlement ON payments (entitlement_id) WHERE entitlement_id IS NOT NULL;

-- Consecutive failures of event webhooks per application, and the time of the first one.
CREATE TABLE webhook_event_failures (
    application_id BIGINT NOT NULL PRIMARY KEY,
    attempts INTEGER NOT NULL,
    since_ms BIGINT NOT NULL
);


-- Games: relationships, sessions, lobbies, messages
-- -------------------------------------------------

-- One row per direction. type: 1 friend, 2 blocked, 3 incoming request, 4 outgoing request. family_id is 0 for platform
-- relationships, otherwise the head of the application family.
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

-- Live gateway sessions that games opened with an OAuth2 token. They determine which lobby members are connected. reads_messages is 1
-- if the user granted the game access to direct messages; only then do webhooks deliver them.
CREATE TABLE game_sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    began_ms BIGINT NOT NULL,
    reads_messages INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX game_sessions_user ON game_sessions (user_id, application_id);

-- A lobby created by players has a secret that others join with. When the lobby has expired, the same secret creates a new one.
-- idle_ms is the time at which the last connected member left, and null while a member is connected.
CREATE TABLE lobbies (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    metadata TEXT,
    flags INTEGER NOT NULL DEFAULT 0,
    idle_timeout_seconds INTEGER NOT NULL,
    idle_ms BIGINT,
    by_secret INTEGER NOT NULL DEFAULT 0,
    secret TEXT,
    secret_expires_ms BIGINT,
    override_event_webhooks_url TEXT,
    linked_channel_id BIGINT
);
CREATE UNIQUE INDEX lobbies_secret ON lobbies (application_id, secret) WHERE secret IS NOT NULL;
CREATE UNIQUE INDEX lobbies_channel ON lobbies (linked_channel_id) WHERE linked_channel_id IS NOT NULL;

CREATE TABLE lobby_members (
    lobby_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    metadata TEXT,
    flags INTEGER NOT NULL DEFAULT 0,
    additional_name TEXT,
    PRIMARY KEY (lobby_id, user_id)
);
CREATE INDEX lobby_members_user ON lobby_members (user_id, application_id);

-- Lobby message history. A message of a linked lobby has the id of its copy in the channel.
CREATE TABLE lobby_messages (
    lobby_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    author_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    content TEXT NOT NULL,
    flags BIGINT NOT NULL,
    application_id BIGINT,
    additional_name TEXT,
    metadata TEXT,
    moderation_metadata TEXT,
    edited_ms BIGINT,
    PRIMARY KEY (lobby_id, id)
);
CREATE INDEX lobby_messages_author ON lobby_messages (author_id);

-- Messages between players that are delivered but not stored: author and recipient, kept while the message may be updated or moderated.
CREATE TABLE passing_messages (
    id BIGINT NOT NULL PRIMARY KEY,
    author_id BIGINT NOT NULL,
    recipient_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX passing_messages_expires ON passing_messages (expires_ms);

-- Party invites and join requests. The join secret is read from the live session of the sender. answered_ms is set when an invite
-- is accepted or a request is granted.
CREATE TABLE game_invites (
    message_id BIGINT NOT NULL PRIMARY KEY,
    channel_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    sender_id BIGINT NOT NULL,
    recipient_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    party_id TEXT NOT NULL,
    expires_ms BIGINT NOT NULL,
    answered_ms BIGINT
);
CREATE INDEX game_invites_expires ON game_invites (expires_ms);
CREATE INDEX game_invites_recipient ON game_invites (recipient_id);

CREATE TABLE message_moderation (
    message_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (message_id, family_id)
);

-- Disclosures that a user has acknowledged, per application.
CREATE TABLE disclosures (
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    PRIMARY KEY (user_id, application_id, type)
);


-- Activities
-- ----------

-- Running activities: one per application and channel, while it has participants.
CREATE TABLE activity_instances (
    id BIGINT PRIMARY KEY,
    application_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    launch_id BIGINT NOT NULL,
    UNIQUE (application_id, channel_id)
);
CREATE INDEX activity_instances_channel ON activity_instances (channel_id);
CREATE INDEX activity_instances_guild ON activity_instances (guild_id) WHERE guild_id IS NOT NULL;

-- session_id is the gateway session of the participant, or '' if none was given.
CREATE TABLE activity_participants (
    instance_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (instance_id, user_id, session_id)
);
CREATE INDEX activity_participants_user ON activity_participants (user_id);

-- URL mappings of activities, in matching order.
CREATE TABLE activity_url_mappings (
    application_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    prefix TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (application_id, position)
);

-- Links that open an activity. type: 0 managed by the owner, 1 temporary and created by a player.
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
