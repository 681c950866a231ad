/** Locales as options of a field. */

import { LOCALE, t } from "../../ui/translation.js";

/** The locales of users and guilds (spec/http.md#1.13). */
const LOCALES =
  "bg cs da de el en-GB en-US es-419 es-ES fi fr hi hr hu id it ja ko lt nl no pl pt-BR ro ru sv-SE th tr uk vi zh-CN zh-TW".split(
    " ",
  );

/** Return the name of a locale in the language of the page or of another locale. */
const localeName = (locale, language = LOCALE) =>
  new Intl.DisplayNames(language, { type: "language" }).of(locale) ?? locale;

const byName = ([, name], [, other]) => name.localeCompare(other, LOCALE);

/** Return the locales with their names in the language of the page, sorted by name. */
export function localeOptions() {
  return LOCALES.map(locale => [locale, localeName(locale)]).sort(byName);
}

/** Return the locales for a user: first those that the interface is translated to, with their name in both languages. */
export function userLocaleOptions() {
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=hubbub-client]"));
  const languages = (meta?.dataset.languages ?? "en").split(" ");
  const isTranslated = locale => languages.includes(locale) || languages.includes(locale.split("-")[0]);
  const translatedLocales = LOCALES.filter(isTranslated).map(locale => {
    const [name, ownName] = [localeName(locale), localeName(locale, locale)];
    return [locale, name === ownName ? name : `${ownName} (${name})`];
  });
  const otherChoices = LOCALES.filter(locale => !isTranslated(locale)).map(locale => [
    locale,
    t("{language} (apps only)", { language: localeName(locale) }),
  ]);
  return [...translatedLocales.sort(byName), ...otherChoices.sort(byName)];
}
