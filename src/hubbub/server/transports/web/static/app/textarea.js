/** Fields that are as high as what is in them. */

const MOST = 240;

export function grow(field) {
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${Math.min(field.scrollHeight + 2, MOST)}px`);
}

/** Put words where the cursor is. */
export function insert(field, words) {
  const { selectionStart: from, selectionEnd: to } = field;
  field.setRangeText(words, from, to, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
}
