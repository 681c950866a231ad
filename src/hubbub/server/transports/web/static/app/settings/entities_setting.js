/** Fields that choose roles and channels of a guild. */

import { ComponentType } from "../generated/enums.js";
import { ChannelType, Permissions, isThread } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { createPicker } from "../ui/picker.js";
import { defaultEntityChoices, findEntityChoices } from "../components/entity_choices.js";
import { firstErrorMessage } from "./form.js";

/**
 * Return a field for several roles or channels; the value is a list of IDs.
 *
 * @param {string} label
 * @param {object} options
 * @param {number} options.type ROLE_SELECT or CHANNEL_SELECT of `ComponentType`
 * @param {number} options.max
 * @param {string} options.placeholder
 * @param {string} [options.hint]
 * @param {(id: string) => boolean} [options.isPossible]
 * @returns {import("./form.js").SettingsField}
 */
export function entitiesSetting({ context, guildId }, label, { type, max, placeholder, hint, isPossible }) {
  const bound = Object.create(context, { guildId: { value: guildId, enumerable: true } });
  const kind = type === ComponentType.ROLE_SELECT ? "role" : "channel";
  const isListed = ({ value }) => value !== guildId && (isPossible?.(value) ?? true);
  const picker = createPicker({
    label,
    placeholder,
    min: 0,
    max,
    find: async query => (await findEntityChoices({ type }, bound, query)).filter(isListed),
    onChange: () => node.dispatchEvent(new Event("input", { bubbles: true })),
  });
  const error = h("p", { class: "error", hidden: true, role: "alert" });
  const node = h(
    "div",
    { class: "field" },
    h("span", { class: "label", "aria-hidden": "true" }, label),
    hint ? h("p", { class: "hint" }, hint) : null,
    picker.node,
    error,
  );
  const setError = text => {
    error.hidden = !text;
    error.textContent = text ?? "";
    if (text) picker.button.focus();
  };
  return {
    node,
    read: () => picker.values.map(({ value }) => value),
    write: ids =>
      picker.set(defaultEntityChoices({ default_values: (ids ?? []).map(id => ({ id, type: kind })) }, bound)),
    setError,
    setErrors: errors => setError(firstErrorMessage(errors)),
    setDisabled(disabled) {
      picker.button.disabled = disabled;
    },
  };
}

/**
 * Return pairs of ID and name for a choice of one channel, in the order of the sidebar.
 *
 * @param {any} state
 * @param {string} guildId
 * @param {{types?: number[], permissions?: bigint}} [options] `types` are all but categories if absent
 */
export function channelChoices(state, guildId, { types, permissions = Permissions.VIEW_CHANNEL } = {}) {
  return state
    .channelsOf(guildId)
    .filter(
      channel =>
        !isThread(channel) &&
        (types?.includes(channel.type) ?? channel.type !== ChannelType.GUILD_CATEGORY) &&
        state.can(channel.id, permissions),
    )
    .sort((a, b) => a.position - b.position)
    .map(channel => [channel.id, `#${channel.name}`]);
}
