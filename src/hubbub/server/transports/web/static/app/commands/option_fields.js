/** Form fields for the options of a command, by type (spec/webhooks-and-interactions.md#5.2). */

import { CommandOptionType, ComponentType } from "../generated/enums.js";
import { STRING_OPTION_MAX } from "../generated/limits.js";
import { h } from "../ui/dom.js";
import { createPicker } from "../ui/picker.js";
import { createSuggestionField } from "../ui/suggestion_field.js";
import { t } from "../ui/translation.js";
import { findEntityChoices } from "../components/entity_choices.js";
import { localizedName } from "./available_commands.js";

const { STRING, INTEGER, BOOLEAN, NUMBER, ATTACHMENT } = CommandOptionType;
/** Select component type of each entity option type. */
const ENTITY_SELECT_TYPES = new Map([
  [CommandOptionType.USER, ComponentType.USER_SELECT],
  [CommandOptionType.CHANNEL, ComponentType.CHANNEL_SELECT],
  [CommandOptionType.ROLE, ComponentType.ROLE_SELECT],
  [CommandOptionType.MENTIONABLE, ComponentType.MENTIONABLE_SELECT],
]);
const NUMBER_LENGTH_MAX = 32;
let fieldCount = 0;

/**
 * Return the field for one option of a command.
 *
 * @param {object} option as the command declares it
 * @param {import("../state/context.js").Context} context
 * @param {(typed: any) => Promise<{name: string, value: any}[]>} complete fetches autocomplete choices from the app
 * @returns {{node: HTMLElement, read: (files: File[]|null) => any, isMissing: () => boolean,
 *   showError: (text: string) => void, focus: () => void}} `read` returns undefined for an empty field and appends its file to
 *   `files`
 */
export function createOptionField(option, context, complete) {
  const id = `option-${(fieldCount += 1)}`;
  const label = localizedName(option);
  const control = controlOf(option, id, label, context, complete);
  const hint = option.description_localized ?? option.description;
  const error = h("p", { class: "field-error", id: `${id}-error`, hidden: true });
  const node = h("div", { class: "command-field" }, h("label", { for: id, title: hint }, label), control.node, error);
  control.input.setAttribute("title", hint);
  if (option.required) control.input.setAttribute("aria-required", "true");
  return {
    node,
    read: control.read,
    isMissing: () => Boolean(option.required) && control.read(null) === undefined,
    showError(text) {
      error.textContent = text;
      error.hidden = !text;
      if (text) {
        control.input.setAttribute("aria-invalid", "true");
        control.input.setAttribute("aria-describedby", error.id);
      } else {
        control.input.removeAttribute("aria-invalid");
        control.input.removeAttribute("aria-describedby");
      }
    },
    focus: () => control.input.focus(),
  };
}

function controlOf(option, id, label, context, complete) {
  const { type } = option;
  if (ENTITY_SELECT_TYPES.has(type)) {
    const component = { type: ENTITY_SELECT_TYPES.get(type), channel_types: option.channel_types };
    return choiceControl({ find: query => findEntityChoices(component, context, query) }, id, label, value => value);
  }
  if (type === BOOLEAN) {
    return choiceControl(
      {
        choices: [
          { value: "true", label: t("True") },
          { value: "false", label: t("False") },
        ],
      },
      id,
      label,
      value => value === "true",
    );
  }
  if (type === ATTACHMENT) return attachmentControl(option, id);
  if (option.choices?.length && !option.autocomplete) {
    const choices = option.choices.map((choice, index) => ({ value: String(index), label: localizedName(choice) }));
    return choiceControl({ choices }, id, label, value => option.choices[Number(value)].value);
  }
  const inputmode = type === INTEGER ? "numeric" : type === NUMBER ? "decimal" : undefined;
  const maxlength = type === STRING ? (option.max_length ?? STRING_OPTION_MAX) : NUMBER_LENGTH_MAX;
  if (option.autocomplete) {
    const field = createSuggestionField({
      label,
      id,
      maxlength,
      inputmode,
      fetchSuggestions: typed => complete(autocompleteValue(typed, option)),
    });
    return { node: field.node, input: field.input, read: () => parseValue(field.value(), type) };
  }
  const input = h("input", { id, type: "text", class: "command-input", autocomplete: "off", maxlength, inputmode });
  return { node: input, input, read: () => parseValue(input.value, type) };
}

function choiceControl(source, id, label, valueOf) {
  const field = createPicker({ ...source, label, min: 0, max: 1 });
  field.button.id = id;
  return {
    node: field.node,
    input: field.button,
    read: () => (field.values.length ? valueOf(field.values[0].value) : undefined),
  };
}

function attachmentControl({ file_types: types = [] }, id) {
  const accept = types.map(type => (type.startsWith(".") ? type : `${type}/*`)).join(",");
  const input = h("input", { id, type: "file", class: "command-file", accept: accept || null });
  return { node: input, input, read };

  function read(files) {
    if (!input.files.length) return undefined;
    // Without `files` (autocomplete, `isMissing`) only the presence of a file matters.
    if (!files) return "0";
    files.push(input.files[0]);
    return String(files.length - 1);
  }
}

/** Convert the input to the option's type. Invalid numbers are sent as text for the server to reject. */
function parseValue(value, type) {
  if (value === "" || value === undefined) return undefined;
  if ((type !== INTEGER && type !== NUMBER) || typeof value !== "string") return value;
  const number = Number(value.trim().replace(",", "."));
  return value.trim() !== "" && Number.isFinite(number) ? number : value;
}

/** Convert a value for autocomplete: incomplete or out-of-range numbers are text (spec/webhooks-and-interactions.md#2.1). */
export function autocompleteValue(value, { type, min_value: min = -Infinity, max_value: max = Infinity }) {
  const parsedValue = parseValue(value, type) ?? "";
  return typeof parsedValue === "number" &&
    (parsedValue < min || parsedValue > max || (type === INTEGER && !Number.isInteger(parsedValue)))
    ? String(value)
    : parsedValue;
}
