/** A field that chooses one role or member of a guild, or none. */

import { iconButton } from "../ui/controls.js";
import { h } from "../ui/dom.js";
import { createPicker } from "../ui/picker.js";
import { findEntityChoices } from "../components/entity_choices.js";

/** Return the choices of roles or members of a guild that match a query; `type` is the type of a select component. */
export function findGuildEntities({ context, guildId }, type, query) {
  const bound = Object.create(context, { guildId: { value: guildId, enumerable: true } });
  return findEntityChoices({ type }, bound, query);
}

/**
 * Return a labeled picker with a button that clears the choice.
 *
 * @param {string} label
 * @param {object} options
 * @param {string} options.placeholder
 * @param {(query: string) => Promise<any[]>} options.find
 * @param {(choice: any) => void} options.onChoose receives the choice, or undefined
 * @param {boolean} [options.disabled]
 */
export function entityPicker(label, { placeholder, find, onChoose, disabled = false }) {
  const picker = createPicker({
    label,
    placeholder,
    min: 0,
    disabled,
    find,
    onCommit: ([choice]) => {
      clear.hidden = choice === undefined;
      onChoose(choice);
    },
  });
  const clear = iconButton("close", `Clear: ${label}`, () => {
    picker.set([]);
    clear.hidden = true;
    picker.button.focus();
    onChoose(undefined);
  });
  clear.hidden = true;
  return h(
    "div",
    { class: "field entity-picker" },
    h("span", { class: "label", "aria-hidden": "true" }, label),
    h("div", { class: "entity-picker-row" }, picker.node, clear),
  );
}
