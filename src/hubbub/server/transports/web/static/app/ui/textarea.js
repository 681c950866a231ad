/** Helpers for text areas. */

const HEIGHT_MAX_PX = 240;

/** Set the height of a text area to its content, up to a maximum. */
export function growToContent(field) {
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, HEIGHT_MAX_PX)}px`);
}

/** Insert text at the cursor or in place of the selection, and focus the field. */
export function insertAtCursor(field, text) {
  const { selectionStart: from, selectionEnd: to } = field;
  field.setRangeText(text, from, to, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
}
