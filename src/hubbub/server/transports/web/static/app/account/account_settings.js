/** The settings of the current user, opened from the account panel. */

import { SettingsDialog } from "../settings/settings_dialog.js";
import { ACCOUNT_GROUPS } from "./screens.js";

/** Kinds of state changes that screens react to. */
const WATCHED_KINDS = new Set(["ready", "me", "settings", "relationships", "guilds", "members", "integrations"]);

/** Open the settings of the user: a screen, or the list of screens where it does not fit beside one. */
export function openAccountSettings(context, screenId = null) {
  const view = new AccountSettings(context);
  view.open(screenId);
  return view;
}

/** The open settings of the user. */
class AccountSettings extends SettingsDialog {
  constructor(context) {
    super(context, "User settings", ACCOUNT_GROUPS);
  }

  get subject() {
    return `@${this.context.state.me.username}`;
  }

  /** The emoji that the user can choose, in the form of a guild. */
  get guild() {
    return { emojis: [...this.context.state.guilds.values()].flatMap(guild => guild.emojis ?? []) };
  }

  onStateChange(detail) {
    if (WATCHED_KINDS.has(detail.kind)) this.notifyScreen(detail);
  }
}
