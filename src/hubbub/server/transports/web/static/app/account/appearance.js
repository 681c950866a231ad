/**
 * User settings: theme, density, text size, motion, formatting buttons and link previews. Changes apply immediately on
 * all devices.
 */

import { h } from "../ui/dom.js";
import { applyAppearance } from "../ui/appearance.js";
import { showError } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { choiceSetting } from "../settings/forms/fields.js";

const THEMES = [
  ["system", t("Like my device")],
  ["light", t("Light")],
  ["dark", t("Dark")],
];
/** Values of `message_display_compact`. */
const DENSITIES = [
  [false, t("Comfortable")],
  [true, t("Compact")],
];
/** Text sizes in percent. The style sheet has a rule for each size other than 100. */
const SCALES = [80, 90, 100, 110, 125, 150].map(scale => [scale, scale === 100 ? t("100% (default)") : `${scale}%`]);
/** Values of `reduced_motion`. */
const MOTIONS = [
  [false, t("Like my device")],
  [true, t("Reduced: no animations")],
];

/** Values of `formatting_toolbar`. */
const TOOLBARS = [
  [true, t("Show the buttons below the message field")],
  [false, t("Hide the buttons")],
];

/** Values of `render_embeds`. */
const PREVIEWS = [
  [true, t("Show previews of links")],
  [false, t("Hide previews of links")],
];

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const APPEARANCE_SCREEN = { id: "appearance", label: t("Appearance"), icon: "screen", build };

function build(view) {
  const { api, state } = view.context;
  const fields = {
    theme: choiceSetting(t("Theme"), THEMES),
    message_display_compact: choiceSetting(t("Density"), DENSITIES, { hint: t("How much space is between messages.") }),
    font_scale: choiceSetting(t("Text size"), SCALES, { unknown: scale => `${scale}%` }),
    reduced_motion: choiceSetting(t("Motion"), MOTIONS),
    formatting_toolbar: choiceSetting(t("Formatting buttons"), TOOLBARS, {
      hint: t("Shortcuts such as Ctrl+B for bold text work in any case."),
    }),
    render_embeds: choiceSetting(t("Link previews"), PREVIEWS, {
      hint: t("The server fetches the pages and their images, so other websites do not see your IP address."),
    }),
  };
  const drawValues = () => {
    for (const [name, field] of Object.entries(fields)) field.write(state.settings[name]);
  };
  for (const [name, field] of Object.entries(fields))
    field.node.addEventListener("change", async () => {
      const change = { [name]: field.read() };
      applyAppearance({ ...state.settings, ...change });
      try {
        state.apply("USER_SETTINGS_UPDATE", await api.request("PATCH", "/users/@me/settings", { json: change }));
      } catch (error) {
        showError(error);
        applyAppearance(state.settings);
        drawValues();
      }
    });
  view.onChange(({ kind }) => kind === "settings" && drawValues());
  drawValues();
  return h(
    "div",
    { class: "settings-section" },
    h("p", { class: "hint" }, t("Changes apply immediately, on all your devices.")),
    Object.values(fields).map(field => field.node),
  );
}
