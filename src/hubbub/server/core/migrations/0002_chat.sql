-- People, places and talk. Times are Unix milliseconds, booleans 0 or 1, JSON is text. An id never changes hands.

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
    mfa_enabled INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX users_username ON users (username) WHERE bot = 0;
CREATE UNIQUE INDEX users_email ON users (email) WHERE email IS NOT NULL;

-- A person's way to log in; a bot has none.
CREATE TABLE accounts (
    user_id BIGINT NOT NULL PRIMARY KEY,
    password_hash TEXT NOT NULL,
    changed_ms BIGINT NOT NULL
);

-- Tokens are kept as SHA-256 of the whole text; the text itself is shown once and never stored.
CREATE TABLE tokens (
    hash {blob} NOT NULL PRIMARY KEY,
    id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    application_id BIGINT,
    scopes TEXT NOT NULL DEFAULT '',
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT
);
CREATE INDEX tokens_user ON tokens (user_id, kind);

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
    settings TEXT NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX applications_bot ON applications (bot_id) WHERE bot_id IS NOT NULL;
CREATE INDEX applications_owner ON applications (owner_id);

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
    member_count INTEGER NOT NULL DEFAULT 0
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

-- Guild channels, threads, direct and group messages. last_message_id is read from messages, so that a message costs no write here.
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
    created_ms BIGINT
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

-- Who is in a direct or group message channel.
CREATE TABLE recipients (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    nick TEXT,
    hidden INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, user_id)
) {without_rowid};
CREATE INDEX recipients_user ON recipients (user_id);

-- Two people have one direct message channel: lower id first.
CREATE TABLE direct_messages (
    lower_id BIGINT NOT NULL,
    higher_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (lower_id, higher_id)
) {without_rowid};

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

-- What enforce_nonce compares with; rows are dropped when their minutes are over.
CREATE TABLE message_nonces (
    author_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    nonce TEXT NOT NULL,
    message_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (author_id, channel_id, nonce)
) {without_rowid};
CREATE INDEX message_nonces_created ON message_nonces (created_ms);

-- When a person last spoke or opened a thread in a slow channel.
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

-- The ephemeral side of a voice channel: never on the channel object.
CREATE TABLE voice_channels (
    channel_id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    status TEXT,
    started_ms BIGINT
);
