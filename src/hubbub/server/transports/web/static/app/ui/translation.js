/** Texts of the user interface: `t` for a text, `tn` for a text with a count, `tNodes` for a text that contains elements. The
 * English text is the key of the message; placeholders are names in braces. */

/**
 * Returns the translation of a text.
 * @param {string} text the English text, a literal, so that the extraction finds it
 * @param {Object<string, string|number>} [values] replacements of the placeholders
 * @returns {string}
 */
export function t(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder,
  );
}

/**
 * Returns the translation of a text that depends on a count. The placeholder `{count}` is the formatted count.
 * @param {string} one the English text for the count 1
 * @param {string} other the English text for other counts
 * @param {number} count
 * @param {Object<string, string|number>} [values] replacements of further placeholders
 * @returns {string}
 */
export function tn(one, other, count, values = {}) {
  return t(count === 1 ? one : other, { count: count.toLocaleString(), ...values });
}

/**
 * Returns the translation of a text as nodes; a placeholder can stand for an element.
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
