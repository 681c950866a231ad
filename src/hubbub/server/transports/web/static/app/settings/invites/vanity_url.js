/** Guild settings: the vanity URL, an invite with a code that the guild chooses. */

import { ErrorCode } from "../../generated/errors.js";
import { VANITY_CODE_MAX } from "../../generated/limits.js";
import { ApiError } from "../../network/api.js";
import { Permissions } from "../../network/enums.js";
import { copyText } from "../../ui/clipboard.js";
import { h } from "../../ui/dom.js";
import { t, tn } from "../../ui/translation.js";
import { textSetting } from "../forms/fields.js";
import { actionButton, missingFeatureReason, settingsSection } from "../forms/layout.js";
import { loadAndShowForm } from "../forms/content_loader.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const VANITY_URL_SCREEN = { id: "vanity-url", label: t("Vanity URL"), icon: "globe", build };

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/vanity-url`;
  const findDenialReason = () => view.access.findDenialReason(Permissions.MANAGE_GUILD);
  const hasFeature = () => (view.guild.features ?? []).includes("VANITY_URL");
  const link = h("p", { class: "vanity-link", dir: "ltr" }),
    uses = h("p", { class: "muted small" });
  let url = null;
  const copyButton = actionButton(t("Copy link"), () => copyText(url, t("Link copied.")));
  return loadAndShowForm(view, VANITY_URL_SCREEN, {
    viewDenialReason: () => {
      if (!hasFeature()) return missingFeatureReason(t("Vanity URLs are not available in this guild."), "VANITY_URL");
      return findDenialReason() === null
        ? null
        : t("You cannot see the vanity URL. {reason}", { reason: findDenialReason() });
    },
    changeDenialReason: findDenialReason,
    load: () => context.api.request("GET", path),
    save: async ({ code }) => {
      try {
        return await context.api.request("PATCH", path, { json: { code } });
      } catch (error) {
        if (error.code !== ErrorCode.INVITE_INVALID_OR_TAKEN) throw error;
        const message = t("This code is taken, or contains characters other than letters, digits and single hyphens.");
        throw new ApiError(error.status, error.code, message, { code: { _errors: [{ message }] } });
      }
    },
    createFields: () => ({
      code: textSetting(t("Code"), {
        hint: t("At least two letters or digits; hyphens in between. An empty code removes the vanity URL."),
        isNullable: true,
        maxlength: VANITY_CODE_MAX,
        autocapitalize: "none",
        spellcheck: "false",
      }),
    }),
    layout: fields => settingsSection(t("Link"), link, uses, h("div", { class: "row" }, copyButton), fields.code.node),
    onValues: ({ code, uses: count }) => {
      url = code ? `${context.webUrl}/invite/${code}` : null;
      link.textContent = url ?? t("This guild has no vanity URL yet.");
      uses.hidden = url === null;
      uses.textContent = tn("Used {count} time.", "Used {count} times.", count);
      copyButton.hidden = url === null;
    },
  });
}
