/** Labels of the actions, properties and values in the audit log. */

import { AuditLogAction } from "../generated/enums.js";

/** Labels by action type (spec/http.md#3.11), in groups. @type {[string, [number, string][]][]} */
export const AUDIT_GROUPS = [
  [
    "Guild",
    [
      [AuditLogAction.GUILD_UPDATE, "Guild updated"],
      [AuditLogAction.GUILD_PROFILE_UPDATE, "Guild profile updated"],
      [AuditLogAction.MEMBER_VERIFICATION_UPDATE, "Member verification updated"],
      [AuditLogAction.HOME_SETTINGS_CREATE, "Home settings created"],
      [AuditLogAction.HOME_SETTINGS_UPDATE, "Home settings updated"],
      [AuditLogAction.GUILD_HOME_FEATURE_ITEM, "Home item featured"],
      [AuditLogAction.GUILD_HOME_REMOVE_ITEM, "Home item removed"],
      [AuditLogAction.GUILD_MIGRATE_PIN_PERMISSION, "Permission to pin messages split"],
      [AuditLogAction.GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION, "Permission to bypass slow mode split"],
    ],
  ],
  [
    "Channels",
    [
      [AuditLogAction.CHANNEL_CREATE, "Channel created"],
      [AuditLogAction.CHANNEL_UPDATE, "Channel updated"],
      [AuditLogAction.CHANNEL_DELETE, "Channel deleted"],
      [AuditLogAction.CHANNEL_OVERWRITE_CREATE, "Channel permissions added"],
      [AuditLogAction.CHANNEL_OVERWRITE_UPDATE, "Channel permissions updated"],
      [AuditLogAction.CHANNEL_OVERWRITE_DELETE, "Channel permissions removed"],
      [AuditLogAction.THREAD_CREATE, "Thread created"],
      [AuditLogAction.THREAD_UPDATE, "Thread updated"],
      [AuditLogAction.THREAD_DELETE, "Thread deleted"],
      [AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE, "Voice channel status set"],
      [AuditLogAction.VOICE_CHANNEL_STATUS_DELETE, "Voice channel status removed"],
    ],
  ],
  [
    "Members",
    [
      [AuditLogAction.MEMBER_KICK, "Member kicked"],
      [AuditLogAction.MEMBER_PRUNE, "Inactive members removed"],
      [AuditLogAction.MEMBER_BAN_ADD, "Member banned"],
      [AuditLogAction.MEMBER_BAN_REMOVE, "Ban lifted"],
      [AuditLogAction.MEMBER_UPDATE, "Member updated"],
      [AuditLogAction.MEMBER_ROLE_UPDATE, "Member roles updated"],
      [AuditLogAction.MEMBER_MOVE, "Member moved"],
      [AuditLogAction.MEMBER_DISCONNECT, "Member disconnected"],
      [AuditLogAction.BOT_ADD, "App added"],
    ],
  ],
  [
    "Roles and invites",
    [
      [AuditLogAction.ROLE_CREATE, "Role created"],
      [AuditLogAction.ROLE_UPDATE, "Role updated"],
      [AuditLogAction.ROLE_DELETE, "Role deleted"],
      [AuditLogAction.INVITE_CREATE, "Invite created"],
      [AuditLogAction.INVITE_UPDATE, "Invite updated"],
      [AuditLogAction.INVITE_DELETE, "Invite revoked"],
    ],
  ],
  [
    "Messages",
    [
      [AuditLogAction.MESSAGE_DELETE, "Messages deleted"],
      [AuditLogAction.MESSAGE_BULK_DELETE, "Messages deleted in bulk"],
      [AuditLogAction.MESSAGE_PIN, "Message pinned"],
      [AuditLogAction.MESSAGE_UNPIN, "Message unpinned"],
    ],
  ],
  [
    "Expressions",
    [
      [AuditLogAction.EMOJI_CREATE, "Emoji created"],
      [AuditLogAction.EMOJI_UPDATE, "Emoji updated"],
      [AuditLogAction.EMOJI_DELETE, "Emoji deleted"],
      [AuditLogAction.STICKER_CREATE, "Sticker created"],
      [AuditLogAction.STICKER_UPDATE, "Sticker updated"],
      [AuditLogAction.STICKER_DELETE, "Sticker deleted"],
      [AuditLogAction.SOUNDBOARD_SOUND_CREATE, "Sound created"],
      [AuditLogAction.SOUNDBOARD_SOUND_UPDATE, "Sound updated"],
      [AuditLogAction.SOUNDBOARD_SOUND_DELETE, "Sound deleted"],
    ],
  ],
  [
    "Apps and webhooks",
    [
      [AuditLogAction.WEBHOOK_CREATE, "Webhook created"],
      [AuditLogAction.WEBHOOK_UPDATE, "Webhook updated"],
      [AuditLogAction.WEBHOOK_DELETE, "Webhook deleted"],
      [AuditLogAction.INTEGRATION_CREATE, "App integration added"],
      [AuditLogAction.INTEGRATION_UPDATE, "App integration updated"],
      [AuditLogAction.INTEGRATION_DELETE, "App integration removed"],
      [AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE, "Command permissions updated"],
    ],
  ],
  [
    "Events and stages",
    [
      [AuditLogAction.STAGE_INSTANCE_CREATE, "Stage started"],
      [AuditLogAction.STAGE_INSTANCE_UPDATE, "Stage updated"],
      [AuditLogAction.STAGE_INSTANCE_DELETE, "Stage ended"],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE, "Event created"],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE, "Event updated"],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE, "Event canceled"],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE, "Event exception created"],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE, "Event exception updated"],
      [AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, "Event exception deleted"],
    ],
  ],
  [
    "Auto moderation",
    [
      [AuditLogAction.AUTO_MODERATION_RULE_CREATE, "Rule created"],
      [AuditLogAction.AUTO_MODERATION_RULE_UPDATE, "Rule updated"],
      [AuditLogAction.AUTO_MODERATION_RULE_DELETE, "Rule deleted"],
      [AuditLogAction.AUTO_MODERATION_BLOCK_MESSAGE, "Message blocked"],
      [AuditLogAction.AUTO_MODERATION_FLAG_TO_CHANNEL, "Message reported"],
      [AuditLogAction.AUTO_MODERATION_USER_COMMUNICATION_DISABLED, "Member timed out by a rule"],
      [AuditLogAction.AUTO_MODERATION_QUARANTINE_USER, "Member quarantined"],
      [AuditLogAction.HARMFUL_LINKS_BLOCKED_MESSAGE, "Harmful link blocked"],
    ],
  ],
  [
    "Onboarding and subscriptions",
    [
      [AuditLogAction.ONBOARDING_PROMPT_CREATE, "Onboarding question created"],
      [AuditLogAction.ONBOARDING_PROMPT_UPDATE, "Onboarding question updated"],
      [AuditLogAction.ONBOARDING_PROMPT_DELETE, "Onboarding question deleted"],
      [AuditLogAction.ONBOARDING_CREATE, "Onboarding created"],
      [AuditLogAction.ONBOARDING_UPDATE, "Onboarding updated"],
      [AuditLogAction.CREATOR_MONETIZATION_REQUEST_CREATED, "Monetization requested"],
      [AuditLogAction.CREATOR_MONETIZATION_TERMS_ACCEPTED, "Monetization terms accepted"],
    ],
  ],
];

/** Labels by action type. @type {Map<number, string>} */
export const AUDIT_LABELS = new Map(AUDIT_GROUPS.flatMap(([, actions]) => actions));

/** Labels of changed properties; `keyLabel` derives the labels of other properties from their key. */
const KEY_LABELS = new Map([
  ["$add", "Roles added"],
  ["$remove", "Roles removed"],
  ["nick", "Nickname"],
  ["owner_id", "Owner"],
  ["parent_id", "Category"],
  ["nsfw", "Age-restricted"],
  ["hoist", "Shown separately"],
  ["rate_limit_per_user", "Slow mode"],
  ["communication_disabled_until", "Timed out until"],
  ["allow", "Allowed permissions"],
  ["deny", "Denied permissions"],
  ["icon_hash", "Icon"],
  ["banner_hash", "Banner"],
  ["avatar_hash", "Avatar"],
  ["splash_hash", "Invite background"],
  ["afk_channel_id", "AFK channel"],
  ["afk_timeout", "AFK timeout"],
  ["default_thread_rate_limit_per_user", "Slow mode in new threads"],
  ["default_message_notifications", "Default notifications"],
  ["explicit_content_filter", "Check for explicit content"],
  ["mfa_level", "Two-factor authentication of moderators"],
  ["entity_type", "Place"],
  ["entity_metadata", "Place"],
  ["trigger_metadata", "Trigger"],
  ["keyword_filter", "Words and phrases"],
  ["regex_patterns", "Regular expressions"],
  ["allow_list", "Allowed words and phrases"],
  ["author_ids", "Authors"],
  ["form_fields", "Questions"],
  ["new_member_actions", "First steps"],
  ["max_age", "Expires after"],
  ["max_uses", "Limit of uses"],
  ["preferred_locale", "Primary language"],
  ["vanity_url_code", "Vanity URL"],
]);

/** Properties without meaning for users; changes of them are not shown. */
export const HIDDEN_KEYS = new Set(["id", "flags", "guild_id", "format_type", "privacy_level"]);

/** Properties that are not shown for a created object, because their first value has no meaning for users. */
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

/** Labels of numbers by property. @type {Map<string, Map<number, string>>} */
export const VALUE_LABELS = new Map([
  ["verification_level", numbered(0, "none", "low", "medium", "high", "highest")],
  ["default_message_notifications", numbered(0, "all messages", "only mentions")],
  ["explicit_content_filter", numbered(0, "off", "media of members without a role", "media of all members")],
  ["mfa_level", numbered(0, "not required", "required")],
  ["status", numbered(1, "scheduled", "started", "ended", "canceled")],
  ["entity_type", numbered(1, "stage channel", "voice channel", "somewhere else")],
]);

/** Return labels by consecutive numbers, starting with `first`. */
function numbered(first, ...labels) {
  return new Map(labels.map((label, index) => [first + index, label]));
}

/** Return the text of a duration in seconds, in the largest unit without a remainder. */
export function formatDuration(seconds) {
  const [unit, unitSeconds] = DURATION_UNITS.find(([, length]) => seconds % length === 0) ?? ["second", 1];
  const count = seconds / unitSeconds;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Units with their length in seconds. @type {[string, number][]} */
const DURATION_UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** Return the label of a changed property. */
export function keyLabel(key) {
  const words = String(key ?? "Value")
    .replace(/_ids$/, "s")
    .replace(/_id$/, "")
    .replaceAll("_", " ")
    .trim();
  return KEY_LABELS.get(key) ?? words.charAt(0).toUpperCase() + words.slice(1);
}
