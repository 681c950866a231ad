/** The screens of the user settings. A new screen is registered here. */

import { t } from "../ui/translation.js";
import { ACCOUNT_SCREEN } from "./account.js";
import { APPEARANCE_SCREEN } from "./appearance.js";
import { APPS_SCREEN } from "./apps.js";
import { BLOCKED_SCREEN } from "./blocked.js";
import { NICKNAMES_SCREEN } from "./nicknames.js";
import { LANGUAGE_SCREEN } from "./language.js";
import { NOTIFICATIONS_SCREEN } from "./notifications.js";
import { PRIVACY_SCREEN } from "./privacy.js";
import { PROFILE_SCREEN } from "./profile.js";
import { SECURITY_SCREEN } from "./security.js";
import { SESSIONS_SCREEN } from "./sessions.js";
import { STATUS_SCREEN } from "./status.js";

/** Screens by the heading of their group. @type {[string, import("../settings/forms/settings_dialog.js").SettingsScreen[]][]} */
export const ACCOUNT_GROUPS = [
  [t("You"), [PROFILE_SCREEN, NICKNAMES_SCREEN, STATUS_SCREEN]],
  [t("Account"), [ACCOUNT_SCREEN, SECURITY_SCREEN, SESSIONS_SCREEN]],
  [t("This app"), [APPEARANCE_SCREEN, NOTIFICATIONS_SCREEN, LANGUAGE_SCREEN]],
  [t("Privacy"), [PRIVACY_SCREEN, BLOCKED_SCREEN, APPS_SCREEN]],
];
