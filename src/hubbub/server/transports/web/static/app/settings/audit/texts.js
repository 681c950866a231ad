/** Labels of the actions, properties and values in the audit log, and texts of durations. */

import { AuditLogAction } from "../../generated/enums.js";
import { t, tn } from "../../ui/translation.js";

/** Labels by action type (spec/http.md#3.11), in groups. @type {[string, [number, string][]][]} */
export const AUDIT_GROUPS = [
  [
    t("Guild"),
    [
      [AuditLogAction.GUILD_UPDATE, t("Guild updated")],
      [AuditLogAction.GUILD_PROFILE_UPDATE, t("Guild profile updated")],
      [AuditLogAction.MEMBER_VERIFICATION_UPDATE, t("Member verification updated")],
      [AuditLogAction.HOME_SETTINGS_CREATE, t("Home settings created")],
      [AuditLogAction.HOME_SETTINGS_UPDATE, t("Home settings updated")],
      [AuditLogAction.GUILD_HOME_FEATURE_ITEM, t("Home item featured")],
      [AuditLogAction.GUILD_HOME_REMOVE_ITEM, t("Home item removed")],
      [AuditLogAction.GUILD_MIGRATE_PIN_PERMISSION, t("Permission to pin messages split")],
      [AuditLogAction.GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION, t("Permission to bypass slow mode split")],
    ],
  ],
  [
    t("Channels"),
    [
      [AuditLogAction.CHANNEL_CREATE, t("Channel created")],
      [AuditLogAction.CHANNEL_UPDATE, t("Channel updated")],
      [AuditLogAction.CHANNEL_DELETE, t("Channel deleted")],
      [AuditLogAction.CHANNEL_OVERWRITE_CREATE, t("Channel permissions added")],
      [AuditLogAction.CHANNEL_OVERWRITE_UPDATE, t("Channel permissions updated")],
      [AuditLogAction.CHANNEL_OVERWRITE_DELETE, t("Channel permissions removed")],
      [AuditLogAction.THREAD_CREATE, t("Thread created")],
      [AuditLogAction.THREAD_UPDATE, t("Thread updated")],
      [AuditLogAction.THREAD_DELETE, t("Thread deleted")],
      [AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE, t("Voice channel status set")],
      [AuditLogAction.VOICE_CHANNEL_STATUS_DELETE, t("Voice channel status removed")],
    ],
  ],
  [
    t("Members"),
    [
      [AuditLogAction.MEMBER_KICK, t("Member kicked")],
      [AuditLogAction.MEMBER_PRUNE, t("Inactive members removed")],
      [AuditLogAction.MEMBER_BAN_ADD, t("Member banned")],
      [AuditLogAction.MEMBER_BAN_REMOVE, t("Ban lifted")],
      [AuditLogAction.MEMBER_UPDATE, t("Member updated")],
      [AuditLogAction.MEMBER_ROLE_UPDATE, t("Member roles updated")],
      [AuditLogAction.MEMBER_MOVE, t("Member moved")],
      [AuditLogAction.MEMBER_DISCONNECT, t("Member disconnected")],
      [AuditLogAction.BOT_ADD, t("App added")],
    ],
  ],
  [
    t("Roles and invites"),
    [
      [AuditLogAction.ROLE_CREATE, t("Role created")],
      [AuditLogAction.ROLE_UPDATE, t("Role updated")],
      [AuditLogAction.ROLE_DELETE, t("Role deleted")],
      [AuditLogAction.INVITE_CREATE, t("Invite created")],
      [AuditLogAction.INVITE_UPDATE, t("Invite updated")],
      [AuditLogAction.INVITE_DELETE, t("Invite revoked")],
    ],
  ],
  [
    t("Messages"),
    [
      [AuditLogAction.MESSAGE_DELETE, t("Messages deleted")],
      [AuditLogAction.MESSAGE_BULK_DELETE, t("Messages deleted in bulk")],
      [AuditLogAction.MESSAGE_PIN, t("Message pinned")],
      [AuditLogAction.MESSAGE_UNPIN, t("Message unpinned")],
    ],
  ],
  [
    t("Expressions"),
    [
      [AuditLogAction.EMOJI_CREATE, t("Emoji created")],
      [AuditLogAction.EMOJI_UPDATE, t("Emoji updated")],
      [AuditLogAction.EMOJI_DELETE, t("Emoji deleted")],
      [AuditLogAction.STICKER_CREATE, t("Sticker created")],
      [AuditLogAction.STICKER_UPDATE, t("Sticker updated")],
      [AuditLogAction.STICKER_DELETE, t("Sticker deleted")],
      [AuditLogAction.SOUNDBOARD_SOUND_CREATE, t("Sound created")],
      [AuditLogAction.SOUNDBOARD_SOUND_UPDATE, t("Sound updated")],
      [AuditLogAction.SOUNDBOARD_SOUND_DELETE, t("Sound deleted")],
    ],
  ],
  [
    t("Apps and webhooks"),
    [
      [AuditLogAction.WEBHOOK_CREATE, t("Webhook created")],
      [AuditLogAction.WEBHOOK_UPDATE, t("Webhook updated")],
      [AuditLogAction.WEBHOOK_DELETE, t("Webhook deleted")],
      [AuditLogAction.INTEGRATION_CREATE, t("App integration added")],
      [AuditLogAction.INTEGRATION_UPDATE, t("App integration updated")],
      [AuditLogAction.INTEGRATION_DELETE, t("App integration removed")],
      [AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE, t("Command permissions updated")],
    ],
  ],
  [
    t("Events and stages"),
    [
      [AuditLogAction.STAGE_INSTANCE_CREATE, t("Stage started")],
      [AuditLogAction.STAGE_INSTANCE_UPDATE, t("Stage updated")],
      [AuditLogAction.STAGE_INSTANCE_DELETE, t("Stage ended")],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE, t("Event created")],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE, t("Event updated")],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE, t("Event canceled")],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE, t("Event exception created")],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE, t("Event exception updated")],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, t("Event exception deleted")],
    ],
  ],
  [
    t("Auto moderation"),
    [
      [AuditLogAction.AUTO_MODERATION_RULE_CREATE, t("Rule created")],
      [AuditLogAction.AUTO_MODERATION_RULE_UPDATE, t("Rule updated")],
      [AuditLogAction.AUTO_MODERATION_RULE_DELETE, t("Rule deleted")],
      [AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE, t("Message blocked")],
      [AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL, t("Message reported")],
      [AuditLogAction.AUTO_MODERATION_USER_COMMUNICATION_DISABLED, t("Member timed out by a rule")],
      [AuditLogAction.AUTO_MODERATION_QUARANTINE_USER, t("Member quarantined")],
      [AuditLogAction.HARMFUL_LINKS_BLOCKED_MESSAGE, t("Harmful link blocked")],
    ],
  ],
  [
    t("Onboarding and subscriptions"),
    [
      [AuditLogAction.ONBOARDING_PROMPT_CREATE, t("Onboarding question created")],
      [AuditLogAction.ONBOARDING_PROMPT_UPDATE, t("Onboarding question updated")],
      [AuditLogAction.ONBOARDING_PROMPT_DELETE, t("Onboarding question deleted")],
      [AuditLogAction.ONBOARDING_CREATE, t("Onboarding created")],
      [AuditLogAction.ONBOARDING_UPDATE, t("Onboarding updated")],
      [AuditLogAction.CREATOR_MONETIZATION_REQUEST_CREATED, t("Monetization requested")],
      [AuditLogAction.CREATOR_MONETIZATION_TERMS_ACCEPTED, t("Monetization terms accepted")],
    ],
  ],
];

/** Labels by action type. @type {Map<number, string>} */
export const AUDIT_LABELS = new Map(AUDIT_GROUPS.flatMap(([, actions]) => actions));

/**
 * Labels of changed properties, by key. `keyLabel` derives a label from the key of any other property; that label is not
 * translated.
 */
const KEY_LABELS = new Map([
  ["$add", t("Roles added")],
  ["$remove", t("Roles removed")],
  ["nick", t("Nickname")],
  ["owner_id", t("Owner")],
  ["parent_id", t("Category")],
  ["nsfw", t("Age-restricted")],
  ["hoist", t("Shown separately")],
  ["rate_limit_per_user", t("Slow mode")],
  ["communication_disabled_until", t("Timed out until")],
  ["allow", t("Allowed permissions")],
  ["deny", t("Denied permissions")],
  ["icon_hash", t("Icon")],
  ["banner_hash", t("Banner")],
  ["avatar_hash", t("Avatar")],
  ["splash_hash", t("Invite background")],
  ["afk_channel_id", t("AFK channel")],
  ["afk_timeout", t("AFK timeout")],
  ["default_thread_rate_limit_per_user", t("Slow mode in new threads")],
  ["default_message_notifications", t("Default notifications")],
  ["explicit_content_filter", t("Check for explicit content")],
  ["mfa_level", t("Two-factor authentication of moderators")],
  ["entity_type", t("Place")],
  ["entity_metadata", t("Place")],
  ["trigger_metadata", t("Trigger")],
  ["keyword_filter", t("Words and phrases")],
  ["regex_patterns", t("Regular expressions")],
  ["allow_list", t("Allowed words and phrases")],
  ["author_ids", t("Authors")],
  ["form_fields", t("Questions")],
  ["new_member_actions", t("First steps")],
  ["max_age", t("Expires after")],
  ["max_uses", t("Limit of uses")],
  ["preferred_locale", t("Primary language")],
  ["vanity_url_code", t("Vanity URL")],
  ["name", t("Name")],
  ["description", t("Description")],
  ["type", t("Type")],
  ["topic", t("Topic")],
  ["position", t("Position")],
  ["status", t("Status")],
  ["code", t("Code")],
  ["uses", t("Uses")],
  ["temporary", t("Temporary")],
  ["channel_id", t("Channel")],
  ["channel_ids", t("Channels")],
  ["inviter_id", t("Inviter")],
  ["application_id", t("Application")],
  ["bitrate", t("Bitrate")],
  ["user_limit", t("User limit")],
  ["rtc_region", t("Region")],
  ["video_quality_mode", t("Video quality mode")],
  ["permission_overwrites", t("Permission overwrites")],
  ["permissions", t("Permissions")],
  ["default_auto_archive_duration", t("Default auto archive duration")],
  ["auto_archive_duration", t("Auto archive duration")],
  ["available_tags", t("Available tags")],
  ["applied_tags", t("Applied tags")],
  ["default_reaction_emoji", t("Default reaction emoji")],
  ["default_sort_order", t("Default sort order")],
  ["default_forum_layout", t("Default forum layout")],
  ["archived", t("Archived")],
  ["locked", t("Locked")],
  ["invitable", t("Invitable")],
  ["color", t("Color")],
  ["colors", t("Colors")],
  ["mentionable", t("Mentionable")],
  ["unicode_emoji", t("Unicode emoji")],
  ["mute", t("Muted")],
  ["deaf", t("Deafened")],
  ["roles", t("Roles")],
  ["role_ids", t("Roles")],
  ["verification_level", t("Verification level")],
  ["features", t("Features")],
  ["system_channel_id", t("System channel")],
  ["system_channel_flags", t("System channel flags")],
  ["rules_channel_id", t("Rules channel")],
  ["public_updates_channel_id", t("Public updates channel")],
  ["safety_alerts_channel_id", t("Safety alerts channel")],
  ["premium_progress_bar_enabled", t("Premium progress bar enabled")],
  ["widget_enabled", t("Widget enabled")],
  ["widget_channel_id", t("Widget channel")],
  ["tags", t("Tags")],
  ["volume", t("Volume")],
  ["emoji_id", t("Emoji")],
  ["emoji_name", t("Emoji name")],
  ["asset", t("Asset")],
  ["available", t("Available")],
  ["image", t("Image")],
  ["image_hash", t("Image")],
  ["badge", t("Badge")],
  ["badge_hash", t("Badge")],
  ["tag", t("Tag")],
  ["location", t("Location")],
  ["scheduled_start_time", t("Scheduled start time")],
  ["scheduled_end_time", t("Scheduled end time")],
  ["recurrence_rule", t("Recurrence rule")],
  ["enabled", t("Enabled")],
  ["actions", t("Actions")],
  ["event_type", t("Event type")],
  ["trigger_type", t("Trigger type")],
  ["exempt_roles", t("Exempt roles")],
  ["exempt_channels", t("Exempt channels")],
  ["presets", t("Presets")],
  ["mention_total_limit", t("Mention total limit")],
  ["mention_raid_protection_enabled", t("Mention raid protection enabled")],
  ["custom_message", t("Custom message")],
  ["duration_seconds", t("Duration seconds")],
  ["title", t("Title")],
  ["options", t("Options")],
  ["single_select", t("Single select")],
  ["required", t("Required")],
  ["in_onboarding", t("In onboarding")],
  ["prompts", t("Prompts")],
  ["default_channel_ids", t("Default channels")],
  ["mode", t("Mode")],
  ["message", t("Message")],
  ["welcome_message", t("Welcome message")],
  ["welcome_channels", t("Welcome channels")],
  ["resource_channels", t("Resource channels")],
  ["manual_approval", t("Manual approval")],
  ["user_id", t("User")],
  ["discovery_splash_hash", t("Discovery background")],
  ["emoji", t("Emoji")],
]);

/** Internal properties, whose changes are not shown. */
export const HIDDEN_KEYS = new Set(["id", "flags", "guild_id", "format_type", "privacy_level"]);

/** Properties that are not shown for a created object, because their first value is not of interest to users. */
export const HIDDEN_KEYS_OF_CREATIONS = new Set([
  "type",
  "event_type",
  "trigger_type",
  "mode",
  "position",
  "available",
]);

/** Properties whose value is the hash of an image. */
export const IMAGE_KEYS = new Set([
  "icon_hash",
  "banner_hash",
  "avatar_hash",
  "splash_hash",
  "discovery_splash_hash",
  "image",
  "image_hash",
  "badge",
  "badge_hash",
]);

/** Properties whose value is a number of seconds. */
export const DURATION_KEYS = new Set([
  "rate_limit_per_user",
  "default_thread_rate_limit_per_user",
  "max_age",
  "afk_timeout",
  "duration_seconds",
]);

/** Labels of numeric values, by property. @type {Map<string, Map<number, string>>} */
export const VALUE_LABELS = new Map([
  ["verification_level", labelsFrom(0, t("none"), t("low"), t("medium"), t("high"), t("highest"))],
  ["default_message_notifications", labelsFrom(0, t("all messages"), t("only mentions"))],
  ["explicit_content_filter", labelsFrom(0, t("off"), t("media of members without a role"), t("media of all members"))],
  ["mfa_level", labelsFrom(0, t("not required"), t("required"))],
  ["status", labelsFrom(1, t("scheduled"), t("started"), t("ended"), t("canceled"))],
  ["entity_type", labelsFrom(1, t("stage channel"), t("voice channel"), t("somewhere else"))],
]);

/** Return labels by consecutive numbers, starting with `first`. */
function labelsFrom(first, ...labels) {
  return new Map(labels.map((label, index) => [first + index, label]));
}

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

/** Return the text of a duration in seconds, in the largest unit without a remainder. */
export function formatDuration(seconds) {
  const isWhole = unitSeconds => seconds % unitSeconds === 0;
  if (isWhole(DAY_SECONDS)) return tn("{count} day", "{count} days", seconds / DAY_SECONDS);
  if (isWhole(HOUR_SECONDS)) return tn("{count} hour", "{count} hours", seconds / HOUR_SECONDS);
  if (isWhole(MINUTE_SECONDS)) return tn("{count} minute", "{count} minutes", seconds / MINUTE_SECONDS);
  return tn("{count} second", "{count} seconds", seconds);
}

/** Return the label of a changed property. */
export function keyLabel(key) {
  const words = String(key ?? t("Value"))
    .replace(/_ids$/, "s")
    .replace(/_id$/, "")
    .replaceAll("_", " ")
    .trim();
  return KEY_LABELS.get(key) ?? words.charAt(0).toUpperCase() + words.slice(1);
}
