/** Labels of the actions in the audit log. */

/** Labels by action type (spec/http.md#3.11), in groups. @type {[string, [number, string][]][]} */
export const AUDIT_GROUPS = [
  [
    "Guild",
    [
      [1, "Guild updated"],
      [211, "Guild profile updated"],
      [210, "Member verification updated"],
      [190, "Home settings created"],
      [191, "Home settings updated"],
      [171, "Home item featured"],
      [172, "Home item removed"],
      [212, "Permission to pin messages split"],
      [213, "Permission to bypass slow mode split"],
    ],
  ],
  [
    "Channels",
    [
      [10, "Channel created"],
      [11, "Channel updated"],
      [12, "Channel deleted"],
      [13, "Channel permissions added"],
      [14, "Channel permissions updated"],
      [15, "Channel permissions removed"],
      [110, "Thread created"],
      [111, "Thread updated"],
      [112, "Thread deleted"],
      [192, "Voice channel status set"],
      [193, "Voice channel status removed"],
    ],
  ],
  [
    "Members",
    [
      [20, "Member kicked"],
      [21, "Inactive members removed"],
      [22, "Member banned"],
      [23, "Ban lifted"],
      [24, "Member updated"],
      [25, "Member roles updated"],
      [26, "Member moved"],
      [27, "Member disconnected"],
      [28, "App added"],
    ],
  ],
  [
    "Roles and invites",
    [
      [30, "Role created"],
      [31, "Role updated"],
      [32, "Role deleted"],
      [40, "Invite created"],
      [41, "Invite updated"],
      [42, "Invite revoked"],
    ],
  ],
  [
    "Messages",
    [
      [72, "Messages deleted"],
      [73, "Messages deleted in bulk"],
      [74, "Message pinned"],
      [75, "Message unpinned"],
    ],
  ],
  [
    "Expressions",
    [
      [60, "Emoji created"],
      [61, "Emoji updated"],
      [62, "Emoji deleted"],
      [90, "Sticker created"],
      [91, "Sticker updated"],
      [92, "Sticker deleted"],
      [130, "Sound created"],
      [131, "Sound updated"],
      [132, "Sound deleted"],
    ],
  ],
  [
    "Apps and webhooks",
    [
      [50, "Webhook created"],
      [51, "Webhook updated"],
      [52, "Webhook deleted"],
      [80, "App integration added"],
      [81, "App integration updated"],
      [82, "App integration removed"],
      [121, "Command permissions updated"],
    ],
  ],
  [
    "Events and stages",
    [
      [83, "Stage started"],
      [84, "Stage updated"],
      [85, "Stage ended"],
      [100, "Event created"],
      [101, "Event updated"],
      [102, "Event canceled"],
      [200, "Event exception created"],
      [201, "Event exception updated"],
      [202, "Event exception deleted"],
    ],
  ],
  [
    "Auto moderation",
    [
      [140, "Rule created"],
      [141, "Rule updated"],
      [142, "Rule deleted"],
      [143, "Message blocked"],
      [144, "Message reported"],
      [145, "Member timed out by a rule"],
      [146, "Member quarantined"],
      [180, "Harmful link blocked"],
    ],
  ],
  [
    "Onboarding and subscriptions",
    [
      [163, "Onboarding question created"],
      [164, "Onboarding question updated"],
      [165, "Onboarding question deleted"],
      [166, "Onboarding created"],
      [167, "Onboarding updated"],
      [150, "Monetization requested"],
      [151, "Monetization terms accepted"],
    ],
  ],
];

/** Labels by action type. @type {Map<number, string>} */
export const AUDIT_LABELS = new Map(AUDIT_GROUPS.flatMap(([, actions]) => actions));

/** Labels of changed properties; other keys are shown in plain words. */
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

/** Properties that say nothing to people. */
export const HIDDEN_KEYS = new Set(["id", "flags", "guild_id", "format_type", "privacy_level"]);

/** Numbers for kinds of things, which say nothing about a new or deleted one. */
export const KINDS = new Set(["type", "event_type", "trigger_type", "mode", "position", "available"]);

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

function numbered(first, ...labels) {
  return new Map(labels.map((label, index) => [first + index, label]));
}

/** Return a number of seconds in the largest unit without a remainder. */
export function formatDuration(seconds) {
  const [unit, size] = DURATION_UNITS.find(([, length]) => seconds % length === 0) ?? ["second", 1];
  const count = seconds / size;
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
