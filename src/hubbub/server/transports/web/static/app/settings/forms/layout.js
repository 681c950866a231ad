/** Parts of the settings screens: sections, list entries, buttons of actions, status lines and notices. */

import { setDenialReason } from "../../ui/controls.js";
import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";

/** Return a paragraph with the status of a list: loading, failed or empty. */
export const statusLine = text => h("p", { class: "muted", role: "status" }, text);

/** Return a notice with the reason why an action is not allowed. */
export function lockedNotice(text) {
  return h("p", { class: "notice warning", role: "note" }, text);
}

/** Return a notice for content that the user can view but not change, with the reason. */
export const viewOnlyNotice = denialReason =>
  lockedNotice(t("You can view this but not change it. {reason}", { reason: denialReason }));

/** Return a section with a heading. */
export function settingsSection(title, ...children) {
  return h("section", { class: "settings-section" }, h("h4", null, title), ...children);
}

/**
 * Return one entry of a list with actions; `image` is the image or icon before the title.
 *
 * @param {{image?: any, title: any, details?: any[], actions?: any[]}} parts
 */
export function listEntry({ image, title, details = [], actions = [] }) {
  return h(
    "li",
    { class: "settings-entry" },
    image ?? null,
    h(
      "div",
      { class: "settings-entry-text" },
      h("p", { class: "settings-entry-title", dir: "auto" }, title),
      details.filter(Boolean).map(detail => h("p", { class: "muted small", dir: "auto" }, detail)),
    ),
    actions.length ? h("div", { class: "settings-entry-actions" }, actions) : null,
  );
}

/** Return a small button; `denialReason` disables it, `name` is its accessible name. */
export function actionButton(label, onClick, { isDangerous = false, denialReason = null, name = label } = {}) {
  const button = h(
    "button",
    {
      type: "button",
      class: `button small ${isDangerous ? "danger" : "quiet"}`,
      "aria-label": name === label ? null : name,
      onclick: onClick,
    },
    label,
  );
  setDenialReason(button, denialReason);
  return button;
}

/**
 * Return why a setting is not available, with the step that makes it available.
 *
 * @param {string} reason a sentence that names what the guild cannot use
 * @param {string} feature the missing feature of the guild, such as `VANITY_URL`
 */
export function missingFeatureReason(reason, feature) {
  return t("{reason} The operator of this server can add the feature {feature} with hubbub admin guild.", {
    reason,
    feature,
  });
}
