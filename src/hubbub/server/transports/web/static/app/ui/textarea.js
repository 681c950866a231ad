/** Helpers for text areas. */

const HEIGHT_MAX_PX = 240;

export function grow(field) {
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, HEIGHT_MAX_PX)}px`);
}

/** Insert text at the cursor. */
export function insert(field, text) {
  const { selectionStart: from, selectionEnd: to } = field;
  field.setRangeText(text, from, to, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
}
