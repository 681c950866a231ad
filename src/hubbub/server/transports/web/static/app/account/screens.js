/** The screens of the user settings. A new screen is registered here. */

import { ACCOUNT_SCREEN } from "./account.js";
import { APPEARANCE_SCREEN } from "./appearance.js";
import { APPS_SCREEN } from "./apps.js";
import { BLOCKED_SCREEN } from "./blocked.js";
import { GUILD_NAMES_SCREEN } from "./guild_names.js";
import { LANGUAGE_SCREEN } from "./language.js";
import { NOTIFICATIONS_SCREEN } from "./notifications.js";
import { PRIVACY_SCREEN } from "./privacy.js";
import { PROFILE_SCREEN } from "./profile.js";
import { SECURITY_SCREEN } from "./security.js";
import { SESSIONS_SCREEN } from "./sessions.js";
import { STATUS_SCREEN } from "./status.js";

/** Screens by the heading of their group. @type {[string, import("../settings/settings_dialog.js").SettingsScreen[]][]} */
export const ACCOUNT_GROUPS = [
  ["You", [PROFILE_SCREEN, GUILD_NAMES_SCREEN, STATUS_SCREEN]],
  ["Account", [ACCOUNT_SCREEN, SECURITY_SCREEN, SESSIONS_SCREEN]],
  ["This app", [APPEARANCE_SCREEN, NOTIFICATIONS_SCREEN, LANGUAGE_SCREEN]],
  ["Privacy", [PRIVACY_SCREEN, BLOCKED_SCREEN, APPS_SCREEN]],
];
