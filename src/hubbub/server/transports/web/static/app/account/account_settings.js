/** The dialog with the settings of the current user. */

import { t } from "../ui/translation.js";
import { SettingsDialog } from "../settings/forms/settings_dialog.js";
import { ACCOUNT_GROUPS } from "./screens.js";

/** Kinds of state changes that screens react to. */
const WATCHED_KINDS = new Set(["ready", "me", "settings", "relationships", "guilds", "members", "integrations"]);

/** Open the settings of the user at a screen; see `SettingsDialog.open` for the case without a screen ID. */
export function openAccountSettings(context, screenId = null) {
  const view = new AccountSettings(context);
  view.open(screenId);
  return view;
}

class AccountSettings extends SettingsDialog {
  constructor(context) {
    super(context, t("User settings"), ACCOUNT_GROUPS);
  }

  get subject() {
    return `@${this.context.state.me.username}`;
  }

  /** An object with the emoji of all guilds, in the form that emoji fields expect of a guild. */
  get guild() {
    return { emojis: [...this.context.state.guilds.values()].flatMap(guild => guild.emojis ?? []) };
  }

  onStateChange(detail) {
    if (WATCHED_KINDS.has(detail.kind)) this.notifyScreen(detail);
  }
}
