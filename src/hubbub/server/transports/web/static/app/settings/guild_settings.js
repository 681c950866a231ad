/** The dialog with the settings of a guild, and its screens in groups. */

import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { AUDIT_LOG_SCREEN } from "./audit/log.js";
import { AUTO_MODERATION_SCREEN } from "./moderation/auto_moderation.js";
import { BANS_SCREEN } from "./members/bans.js";
import { CHANNELS_SCREEN } from "./channels/channels.js";
import { EMOJI_SCREEN } from "./expressions/emoji.js";
import { GuildAccess } from "./permissions/guild_access.js";
import { GUILD_TAG_SCREEN } from "./guild_tag.js";
import { IMPORTED_ACCOUNTS_SCREEN } from "./members/imported_accounts.js";
import { INTEGRATIONS_SCREEN } from "./integrations/integrations.js";
import { INVITES_SCREEN } from "./invites/invites.js";
import { JOIN_FORM_SCREEN } from "./joining/join_form.js";
import { JOIN_REQUESTS_SCREEN } from "./joining/join_requests.js";
import { MEMBER_GUIDE_SCREEN } from "./joining/member_guide.js";
import { MEMBERS_SCREEN } from "./members/members.js";
import { ONBOARDING_SCREEN } from "./joining/onboarding.js";
import { OVERVIEW_SCREEN } from "./overview.js";
import { OWNERSHIP_SCREEN } from "./ownership.js";
import { ROLES_SCREEN } from "./roles/roles.js";
import { SAFETY_SCREEN } from "./moderation/safety.js";
import { EVENTS_SCREEN } from "./events/scheduled_events.js";
import { SettingsDialog } from "./forms/settings_dialog.js";
import { SOUNDBOARD_SCREEN } from "./expressions/soundboard.js";
import { STAGES_SCREEN } from "./events/stages.js";
import { STICKERS_SCREEN } from "./expressions/stickers.js";
import { TEMPLATES_SCREEN } from "./templates.js";
import { VANITY_URL_SCREEN } from "./invites/vanity_url.js";
import { WEBHOOKS_SCREEN } from "./integrations/webhooks.js";
import { WELCOME_SCREEN } from "./joining/welcome_screen.js";
import { WIDGET_SCREEN } from "./widget.js";

/** Kinds of state changes that screens react to. */
const WATCHED_KINDS = new Set([
  "guilds",
  "members",
  "channels",
  "auditLog",
  "autoModeration",
  "joinRequests",
  "sounds",
  "webhooks",
  "integrations",
  "invites",
  "scheduledEvents",
]);

/**
 * Screens by the heading of their group in the navigation.
 *
 * @type {[string, import("./forms/settings_dialog.js").SettingsScreen[]][]}
 */
const GROUPS = [
  [
    t("Guild"),
    [
      OVERVIEW_SCREEN,
      GUILD_TAG_SCREEN,
      ROLES_SCREEN,
      CHANNELS_SCREEN,
      EMOJI_SCREEN,
      STICKERS_SCREEN,
      SOUNDBOARD_SCREEN,
    ],
  ],
  [
    t("Members"),
    [
      MEMBERS_SCREEN,
      INVITES_SCREEN,
      VANITY_URL_SCREEN,
      JOIN_FORM_SCREEN,
      JOIN_REQUESTS_SCREEN,
      BANS_SCREEN,
      IMPORTED_ACCOUNTS_SCREEN,
    ],
  ],
  [
    t("Community"),
    [
      EVENTS_SCREEN,
      STAGES_SCREEN,
      WELCOME_SCREEN,
      MEMBER_GUIDE_SCREEN,
      ONBOARDING_SCREEN,
      TEMPLATES_SCREEN,
      WIDGET_SCREEN,
    ],
  ],
  [t("Integrations"), [INTEGRATIONS_SCREEN, WEBHOOKS_SCREEN]],
  [t("Moderation"), [AUTO_MODERATION_SCREEN, SAFETY_SCREEN, AUDIT_LOG_SCREEN]],
  [t("Ownership"), [OWNERSHIP_SCREEN]],
];

/** Open the settings of a guild at a screen; see `SettingsDialog.open` for the case without a screen ID. */
export function openGuildSettings(context, guildId, screenId = null) {
  const view = new GuildSettings(context, guildId);
  view.open(screenId);
  return view;
}

class GuildSettings extends SettingsDialog {
  /** Whether the user is deleting the guild in this dialog; then no notice follows when the guild is removed. */
  isDeletingGuild = false;

  constructor(context, guildId) {
    super(context, t("Guild settings"), GROUPS);
    this.guildId = guildId;
  }

  get guild() {
    return this.context.state.guilds.get(this.guildId);
  }

  get subject() {
    return this.guild.name;
  }

  /** A new snapshot of the user's access to the guild. */
  get access() {
    return new GuildAccess(this.context, this.guildId);
  }

  onStateChange(detail) {
    if (detail.kind === "guilds" && this.guild === undefined) {
      this.box.close();
      if (!this.isDeletingGuild) showNotice(t("You are no longer a member of this guild."));
      return;
    }
    if (detail.guildId !== this.guildId || !WATCHED_KINDS.has(detail.kind)) return;
    if (this.guild === undefined) return;
    this.notifyScreen(detail);
  }
}
