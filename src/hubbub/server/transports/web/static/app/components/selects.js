/**
 * Select menus of messages, which send a selection to the app immediately, and the choices of selects in messages and
 * modals.
 */

import { ComponentType } from "../generated/enums.js";
import { createPicker } from "../ui/picker.js";
import { t } from "../ui/translation.js";
import { emojiElement } from "../content/emoji/element.js";
import { sendComponentInteraction } from "./buttons.js";
import { findEntityChoices, defaultEntityChoices } from "./entity_choices.js";

const { STRING_SELECT, USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT } = ComponentType;
const DEFAULT_LABELS = new Map([
  [STRING_SELECT, t("Choose")],
  [USER_SELECT, t("Choose users")],
  [ROLE_SELECT, t("Choose roles")],
  [MENTIONABLE_SELECT, t("Choose users or roles")],
  [CHANNEL_SELECT, t("Choose channels")],
]);

/** Return a select menu of a message. */
export function renderSelect(component, { message, context }) {
  const menu = createPicker({
    ...selectSource(component, context),
    label: component.placeholder || DEFAULT_LABELS.get(component.type),
    placeholder: component.placeholder || DEFAULT_LABELS.get(component.type),
    min: component.min_values ?? 1,
    max: component.max_values ?? 1,
    disabled: component.disabled,
    onCommit: sendSelection,
  });
  menu.node.dataset.key = `${message.id}:${component.custom_id}`;
  // `reconcile` uses this attribute to restore the focus when the message is rebuilt.
  menu.button.dataset.focus = component.custom_id;
  return menu.node;

  async function sendSelection(values) {
    const initialValues = selectSource(component, context).values;
    const hasSucceeded = await sendComponentInteraction(
      component,
      values.map(({ value }) => value),
      { message, context },
    );
    if (!hasSucceeded) menu.set(initialValues);
  }
}

/**
 * Return the choices of a select in a message or modal, and the initial values.
 *
 * @returns {{choices?: import("../ui/picker.js").Choice[], find?: Function, values: import("../ui/picker.js").Choice[]}}
 */
export function selectSource(component, context) {
  if (component.type !== STRING_SELECT) {
    return {
      find: query => findEntityChoices(component, context, query),
      values: defaultEntityChoices(component, context),
    };
  }
  const choices = (component.options ?? []).map(asChoice);
  return { choices, values: choices.filter((_, index) => component.options[index].default) };
}

function asChoice({ value, label, description, emoji }) {
  return {
    value,
    label,
    description: description || undefined,
    buildIcon: emoji ? () => emojiElement(emoji) : undefined,
  };
}
