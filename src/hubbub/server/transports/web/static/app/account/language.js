/** User settings: the locale of the interface, which apps receive too. */

import { choiceSetting } from "../settings/forms/fields.js";
import { SettingsForm } from "../settings/forms/form.js";
import { settingsSection } from "../settings/forms/layout.js";
import { userLocaleOptions } from "../settings/forms/locales.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const LANGUAGE_SCREEN = { id: "language", label: t("Language"), icon: "globe", build };

function build(view) {
  const { context } = view;
  const fields = {
    locale: choiceSetting(t("Language"), userLocaleOptions(), {
      hint: t("Pages and mail use this language. Apps receive it and can answer in it."),
    }),
  };
  const form = new SettingsForm(fields, context.state.me, {
    save: async changes => {
      const changedUser = await context.api.request("PATCH", "/users/@me", { json: changes });
      context.state.apply("USER_UPDATE", changedUser);
      // Modules read their texts when they are loaded.
      location.reload();
      return changedUser;
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  view.onChange(({ kind }) => kind === "me" && form.showStored(context.state.me));
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(
      t("Language"),
      fields.locale.node,
      h(
        "p",
        { class: "notice", role: "note" },
        t("The page reloads in the new language. Dates and numbers follow it."),
        " ",
        t("For languages marked “apps only” the interface has no translation yet; your browser’s languages decide."),
      ),
    ),
  );
}
