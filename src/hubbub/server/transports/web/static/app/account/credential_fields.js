/** Fields for the password and the two-factor code of the user. */

import { PASSWORD_MAX } from "../generated/limits.js";
import { t } from "../ui/translation.js";
import { textSetting } from "../settings/forms/fields.js";

/** Maximum length of an entered code: room for a backup code with spaces. */
const CODE_INPUT_MAX = 24;

export const currentPasswordSetting = () =>
  textSetting(t("Your password"), {
    type: "password",
    autocomplete: "current-password",
    required: true,
    maxlength: PASSWORD_MAX,
  });

/** Return a field for a code of the user's authenticator or a backup code. */
export const codeSetting = hint =>
  textSetting(t("Code"), {
    hint,
    autocomplete: "one-time-code",
    required: true,
    maxlength: CODE_INPUT_MAX,
    class: "digits-input",
  });
