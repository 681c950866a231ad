/** Texts of the user interface: `t` for a text, `tn` for a text with a count, `tNodes` for a text that contains elements. The
 * English text is the key of the message; placeholders are names in braces. The page names its language and the URL of the
 * catalog, which is loaded before any module that imports this one. Without a catalog the texts are in English. */

/** The root element; undefined outside of a page. */
const root = globalThis.document?.documentElement;

/** Locale of dates, numbers and sorting: the language of the page, with the region that the browser prefers for it. */
export const LOCALE = findLocale(root?.lang);

const isRightToLeft = root?.dir === "rtl";

/** The key that moves to the next entry of a row. */
export const FORWARD_KEY = isRightToLeft ? "ArrowLeft" : "ArrowRight";

/** The key that moves to the previous entry of a row. */
export const BACKWARD_KEY = isRightToLeft ? "ArrowRight" : "ArrowLeft";

/** Translations by English text; a message with a count has one text for each plural category.
 * @type {Record<string, string | Record<string, string>>} */
const MESSAGES = await loadCatalog(root?.dataset.catalog);

const PLURALS = new Intl.PluralRules(LOCALE);
const NUMBERS = new Intl.NumberFormat(LOCALE);

function findLocale(language) {
  if (!language) return undefined;
  return navigator.languages.find(locale => locale === language || locale.startsWith(`${language}-`)) ?? language;
}

async function loadCatalog(url) {
  if (!url) return {};
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`The server responded with ${response.status}`);
    return await response.json();
  } catch (error) {
    console.warn("The translation could not be loaded", error);
    return {};
  }
}

/** Return the translation of a message without a count; undefined if there is none. */
function findTranslation(text) {
  if (!Object.hasOwn(MESSAGES, text)) return undefined;
  const translation = MESSAGES[text];
  return typeof translation === "string" ? translation : (translation.one ?? translation.other);
}

/** Replace the placeholders of a text. */
function fillPlaceholders(text, values) {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder,
  );
}

/**
 * Return the translation of a text.
 * @param {string} text the English text, a literal, so that the extraction finds it
 * @param {Object<string, string|number>} [values] replacements of the placeholders
 * @returns {string}
 */
export function t(text, values = {}) {
  return fillPlaceholders(findTranslation(text) ?? text, values);
}

/**
 * Return the translation of a text that depends on a count. The placeholder `{count}` is the formatted count.
 * @param {string} one the English text for the count 1
 * @param {string} other the English text for other counts
 * @param {number} count
 * @param {Object<string, string|number>} [values] replacements of the other placeholders
 * @returns {string}
 */
export function tn(one, other, count, values = {}) {
  const forms = Object.hasOwn(MESSAGES, one) ? MESSAGES[one] : undefined;
  const translatedText = typeof forms === "object" ? (forms[PLURALS.select(count)] ?? forms.other) : forms;
  return fillPlaceholders(translatedText ?? (count === 1 ? one : other), { count: NUMBERS.format(count), ...values });
}

/**
 * Return the translation of a text as nodes; a placeholder can stand for an element.
 * @param {string} text the English text
 * @param {Object<string, Node|string|number>} values replacements of the placeholders
 * @returns {Array<Node|string>}
 */
export function tNodes(text, values) {
  return t(text)
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 ? (values[part] ?? `{${part}}`) : part))
    .filter(part => part !== "")
    .map(part => (typeof part === "number" ? String(part) : part));
}

/**
 * Join names to a list such as "a, b, and c".
 * @param {string[]} items
 * @param {"conjunction" | "disjunction" | "unit"} [type]
 */
export const formatList = (items, type = "conjunction") => new Intl.ListFormat(LOCALE, { type }).format(items);
