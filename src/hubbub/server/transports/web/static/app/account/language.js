/** User settings: the locale, which apps receive. */

import { h } from "../ui/dom.js";
import { choiceSetting } from "../settings/fields.js";
import { SettingsForm } from "../settings/form.js";
import { settingsSection } from "../settings/layout.js";
import { localeOptions } from "../settings/locales.js";

/** @type {import("../settings/settings_dialog.js").SettingsScreen} */
export const LANGUAGE_SCREEN = { id: "language", label: "Language", icon: "globe", build };

function build(view) {
  const { context } = view;
  const fields = {
    locale: choiceSetting("Language", localeOptions(), { hint: "Apps receive it and can answer in this language." }),
  };
  const form = new SettingsForm(fields, context.state.me, {
    save: async changes => {
      const changed = await context.api.request("PATCH", "/users/@me", { json: changes });
      context.state.apply("USER_UPDATE", changed);
      return changed;
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  view.onChange(({ kind }) => kind === "me" && form.load(context.state.me));
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(
      "Language",
      fields.locale.node,
      h(
        "p",
        { class: "notice", role: "note" },
        "Hubbub itself is available in English only. Dates follow your browser.",
      ),
    ),
  );
}
