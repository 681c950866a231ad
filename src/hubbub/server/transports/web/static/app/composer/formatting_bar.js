/** Buttons and shortcuts that format the text of a composer with Markdown. */

import { iconButton } from "../ui/controls.js";
import { h } from "../ui/dom.js";
import { BACKWARD_KEY, FORWARD_KEY, t } from "../ui/translation.js";

/**
 * A format: `delimiter` surrounds the selection, `prefix` starts each selected line, and `apply` formats in another way.
 *
 * @typedef {object} Format
 * @property {string} icon
 * @property {string} label
 * @property {string} [delimiter]
 * @property {string} [prefix]
 * @property {(field: HTMLTextAreaElement) => void} [apply]
 * @property {string} [key] `KeyboardEvent.key` of the shortcut, pressed with Ctrl, or Cmd on a Mac
 * @property {string} [code] `KeyboardEvent.code` of the shortcut, pressed with Shift and Ctrl, or Shift and Cmd on a
 *   Mac
 */

/** @type {Format[]} */
const FORMATS = [
  { icon: "bold", label: t("Bold"), delimiter: "**", key: "b" },
  { icon: "italic", label: t("Italic"), delimiter: "*", key: "i" },
  { icon: "strike", label: t("Strikethrough"), delimiter: "~~", code: "KeyX" },
  { icon: "code", label: t("Code"), delimiter: "`", key: "e" },
  { icon: "code_block", label: t("Code block"), apply: applyCodeBlock, code: "KeyE" },
  { icon: "quote", label: t("Quote"), prefix: "> ", code: "Digit9" },
  { icon: "list", label: t("List"), prefix: "- ", code: "Digit8" },
  { icon: "link", label: t("Link"), apply: applyLink, code: "KeyU" },
  { icon: "hide", label: t("Spoiler"), delimiter: "||", code: "KeyH" },
];

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Add the buttons to a composer, and handle the shortcuts of its field. */
export function attachFormattingBar(composer) {
  const { field, status } = composer;
  const bar = h(
    "div",
    { class: "formatting-bar", role: "toolbar", "aria-label": t("Formatting") },
    FORMATS.map((format, index) =>
      iconButton(format.icon, format.label, () => applyFormat(format, field), {
        title: `${format.label} (${shortcutText(format)})`,
        "aria-keyshortcuts": shortcutText(format),
        tabindex: index === 0 ? "0" : "-1",
        // The field keeps its focus and selection.
        onpointerdown: event => event.preventDefault(),
      }),
    ),
  );
  bar.addEventListener("keydown", event => {
    const buttons = /** @type {HTMLElement[]} */ ([...bar.children]);
    const index = buttons.indexOf(/** @type {any} */ (document.activeElement));
    const target = { [FORWARD_KEY]: index + 1, [BACKWARD_KEY]: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = buttons[(target + buttons.length) % buttons.length];
    for (const button of buttons) button.setAttribute("tabindex", button === next ? "0" : "-1");
    next.focus();
  });
  status.append(bar);
  const updateVisibility = () => {
    bar.hidden = composer.context.state.settings.formatting_toolbar === false;
    composer.node.classList.toggle("has-selection", field.selectionStart !== field.selectionEnd);
  };
  for (const name of ["select", "keyup", "pointerup", "input", "focus"]) field.addEventListener(name, updateVisibility);
  field.addEventListener("keydown", event => {
    const format = event.defaultPrevented ? undefined : FORMATS.find(candidate => isShortcut(candidate, event));
    if (format === undefined) return;
    event.preventDefault();
    applyFormat(format, field);
  });
  updateVisibility();
}

function isShortcut({ key, code }, event) {
  if (event.altKey || !(isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey)) return false;
  return event.shiftKey ? event.code === code : code === undefined && event.key.toLowerCase() === key;
}

function shortcutText({ key, code }) {
  const name = isMac ? "Meta" : "Control";
  return key ? `${name}+${key.toUpperCase()}` : `${name}+Shift+${code.replace(/^Key|^Digit/, "")}`;
}

function applyFormat({ delimiter, prefix, apply }, field) {
  field.focus();
  if (delimiter !== undefined) applyDelimiter(field, delimiter);
  else if (prefix !== undefined) applyPrefix(field, prefix);
  else apply(field);
}

/** Replace a range of the text, which the user can undo, and select a part of the new text. */
function replaceRange(field, start, end, text, selectionStart, selectionEnd) {
  field.setSelectionRange(start, end);
  // `setRangeText` would clear the undo history.
  if (!document.execCommand("insertText", false, text)) {
    field.setRangeText(text, start, end, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  field.setSelectionRange(selectionStart, selectionEnd);
  field.dispatchEvent(new Event("select"));
}

/** Surround the selection with a delimiter, or remove the delimiters around it. */
function applyDelimiter(field, delimiter) {
  const { value, selectionStart: start, selectionEnd: end } = field;
  const delimiterLength = delimiter.length,
    text = value.slice(start, end);
  // The asterisk before the selection may belong to the delimiter of bold text.
  const isBold = delimiter === "*" && value.slice(start - 2, start) === "**" && value.slice(start - 3, start) !== "***";
  if (
    value.slice(start - delimiterLength, start) === delimiter &&
    value.slice(end, end + delimiterLength) === delimiter &&
    !isBold
  )
    replaceRange(
      field,
      start - delimiterLength,
      end + delimiterLength,
      text,
      start - delimiterLength,
      end - delimiterLength,
    );
  else replaceRange(field, start, end, delimiter + text + delimiter, start + delimiterLength, end + delimiterLength);
}

/** Add a prefix to each selected line, or remove it if all of them have it. */
function applyPrefix(field, prefix) {
  const { value, selectionStart, selectionEnd } = field;
  const start = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const lineEnd = value.indexOf("\n", selectionEnd),
    end = lineEnd < 0 ? value.length : lineEnd;
  const lines = value.slice(start, end).split("\n");
  const isPrefixed = lines.every(line => line.startsWith(prefix));
  const text = lines.map(line => (isPrefixed ? line.slice(prefix.length) : prefix + line)).join("\n");
  const isCaret = selectionStart === selectionEnd;
  replaceRange(field, start, end, text, isCaret ? start + text.length : start, start + text.length);
}

function applyCodeBlock(field) {
  const { value, selectionStart: start, selectionEnd: end } = field;
  const lineBreak = start > 0 && value[start - 1] !== "\n" ? "\n" : "";
  const openingFence = `${lineBreak}\`\`\`\n`;
  const contentStart = start + openingFence.length;
  replaceRange(
    field,
    start,
    end,
    `${openingFence}${value.slice(start, end)}\n\`\`\``,
    contentStart,
    contentStart + end - start,
  );
}

function applyLink(field) {
  const { value, selectionStart: start, selectionEnd: end } = field;
  const selectedText = value.slice(start, end);
  if (/^https?:\/\/\S+$/.test(selectedText))
    replaceRange(field, start, end, `[](${selectedText})`, start + 1, start + 1);
  else {
    const text = selectedText || "text";
    const from = start + text.length + 3;
    replaceRange(field, start, end, `[${text}](https://)`, from, from + "https://".length);
  }
}
