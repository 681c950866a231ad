/** Locales as options of a field. */

/** The locales of users and guilds (spec/http.md#1.13). */
const LOCALES =
  "bg cs da de el en-GB en-US es-419 es-ES fi fr hi hr hu id it ja ko lt nl no pl pt-BR ro ru sv-SE th tr uk vi zh-CN zh-TW".split(
    " ",
  );

/** Return the locales with their names in the language of the browser, sorted by name. */
export function localeOptions() {
  const names = new Intl.DisplayNames(undefined, { type: "language" });
  return LOCALES.map(locale => [locale, names.of(locale) ?? locale]).sort((a, b) => a[1].localeCompare(b[1]));
}
