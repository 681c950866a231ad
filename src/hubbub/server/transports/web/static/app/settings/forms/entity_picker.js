/** Fields that choose roles, members and channels of a guild. */

import { ComponentType } from "../../generated/enums.js";
import { formField, iconButton } from "../../ui/controls.js";
import { h } from "../../ui/dom.js";
import { createPicker } from "../../ui/picker.js";
import { t } from "../../ui/translation.js";
import { defaultEntityChoices, findEntityChoices } from "../../components/entity_choices.js";
import { firstErrorMessage } from "./fields.js";

/** Return the roles, members or channels of a guild that match a query, by the type of a select component. */
export function findGuildEntities(view, type, query) {
  return findEntityChoices({ type }, bindToGuild(view), query);
}

/** Return a context with the guild of the settings as its current guild. */
const bindToGuild = ({ context, guildId }) => Object.create(context, { guildId: { value: guildId, enumerable: true } });

/** Types of default values by component type; other components have users. */
const VALUE_TYPES = { [ComponentType.ROLE_SELECT]: "role", [ComponentType.CHANNEL_SELECT]: "channel" };

/**
 * Return a field whose value is a list of IDs of roles, channels or members.
 *
 * @param {any} view
 * @param {string} label
 * @param {{type: number, hint?: string, placeholder: string, max: number, isPossible?: (id: string) => boolean}} options
 *   `type` is the type of a select component; `isPossible` returns whether a role, channel or member can be chosen
 * @returns {import("./fields.js").SettingsField}
 */
export function entitiesSetting(view, label, { type, hint, placeholder, max, isPossible = () => true }) {
  const isListed = ({ value }) => value !== view.guildId && isPossible(value);
  const picker = createPicker({
    label,
    placeholder,
    min: 0,
    max,
    find: async query => (await findGuildEntities(view, type, query)).filter(isListed),
    onChange: () => picker.node.dispatchEvent(new Event("input", { bubbles: true })),
  });
  const field = formField(label, picker.button, hint);
  field.node.insertBefore(picker.node, picker.button);
  picker.node.prepend(picker.button);
  const valueType = VALUE_TYPES[type] ?? "user";
  return {
    node: field.node,
    read: () => picker.values.map(({ value }) => value),
    write(ids) {
      const values = (ids ?? []).map(id => ({ id, type: valueType }));
      picker.set(defaultEntityChoices({ default_values: values }, bindToGuild(view)));
    },
    setError: field.setError,
    setErrors: errors => field.setError(firstErrorMessage(errors)),
    setDisabled(disabled) {
      picker.button.disabled = disabled;
    },
  };
}

/**
 * Return a labeled picker for one role, member or channel, with a button that clears the choice.
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
      clearButton.hidden = choice === undefined;
      onChoose(choice);
    },
  });
  const clearButton = iconButton("close", t("Clear: {label}", { label }), () => {
    picker.set([]);
    clearButton.hidden = true;
    picker.button.focus();
    onChoose(undefined);
  });
  clearButton.hidden = true;
  return h(
    "div",
    { class: "field entity-picker" },
    h("span", { class: "label", "aria-hidden": "true" }, label),
    h("div", { class: "entity-picker-row" }, picker.node, clearButton),
  );
}
