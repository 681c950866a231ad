/**
 * The form of a command: fields for required options, and buttons that add fields for the others. Enter runs it, Escape
 * closes it.
 */

import { AUTOCOMPLETE, APPLICATION_COMMAND, getInteractions } from "../network/interactions.js";
import { h, setChildren } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import {
  fetchCommands,
  interactionData,
  optionErrors,
  localizedName,
  localizedChoiceName,
} from "./available_commands.js";
import { createOptionField, autocompleteValue } from "./option_fields.js";

const OUTDATED_VERSION_CODE = "INTERACTION_APPLICATION_COMMAND_INVALID_VERSION";

/**
 * Return the form with the options of a command.
 *
 * @param {import("./available_commands.js").Entry} entry
 * @param {object} context
 * @param {(hasRun: boolean) => void} onDone called after the command ran or the form was closed
 * @returns {{node: HTMLElement, focus: () => void}}
 */
export function createCommandForm(entry, context, onDone) {
  const fields = new Map();
  const rows = h("div", { class: "command-fields" });
  const optionButtons = h("div", { class: "command-more" });
  const status = h("p", { class: "command-status", role: "alert", hidden: true });
  const runButton = h("button", { type: "submit", class: "button small" }, t("Run"));
  const node = h(
    "form",
    {
      class: "command-form",
      novalidate: true,
      "aria-label": t("Command {name} of {app}", { name: entry.name, app: entry.application.name }),
      onsubmit: runCommand,
      onkeydown: onKeydown,
    },
    h(
      "div",
      { class: "command-head" },
      h("strong", { class: "command-name" }, `/${entry.name}`),
      h("span", { class: "command-app" }, entry.application.name),
      h("span", { class: "command-text" }, entry.description),
      h("button", { type: "button", class: "button quiet small", onclick: () => onDone(false) }, t("Cancel")),
      runButton,
    ),
    rows,
    optionButtons,
    status,
  );
  for (const option of entry.options) if (option.required) addOption(option);
  renderOptional();
  return { node, focus: () => ([...fields.values()][0] ?? { focus: () => runButton.focus() }).focus() };

  function addOption(option, { focus = false } = {}) {
    const field = createOptionField(option, context, typed => fetchChoices(option, typed));
    fields.set(option.name, field);
    rows.append(field.node);
    if (focus) field.focus();
  }

  /** Show a button for each option that is not in the form yet. */
  function renderOptional() {
    const remainingOptions = entry.options.filter(({ name }) => !fields.has(name));
    const button = option => {
      const title = option.description_localized ?? option.description;
      return h(
        "button",
        { type: "button", class: "command-suggestion", title, onclick: () => addOptional(option) },
        `+ ${localizedName(option)}`,
      );
    };
    setChildren(optionButtons, remainingOptions.map(button));
    optionButtons.hidden = !remainingOptions.length;
  }

  function addOptional(option) {
    addOption(option, { focus: true });
    renderOptional();
  }

  /** Return the filled-in options in the order of the command. Files are referenced by their index in `files`. */
  function readOptions(files) {
    return entry.options.flatMap(option => {
      const value = fields.get(option.name)?.read(files);
      return value === undefined ? [] : [{ type: option.type, name: option.name, value }];
    });
  }

  async function fetchChoices(option, typed) {
    const otherValues = readOptions(null)
      .filter(({ name }) => name !== option.name)
      .map(givenOption => ({
        ...givenOption,
        value: autocompleteValue(
          givenOption.value,
          entry.options.find(({ name }) => name === givenOption.name),
        ),
      }));
    const values = [...otherValues, { type: option.type, name: option.name, value: typed, focused: true }];
    const order = entry.options.map(({ name }) => name);
    values.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
    const request = { type: AUTOCOMPLETE, applicationId: entry.application.id, data: interactionData(entry, values) };
    const { choices } = await getInteractions(context).send(context, request);
    return (choices ?? []).map(choice => ({ name: localizedChoiceName(choice), value: choice.value }));
  }

  async function runCommand(event) {
    event.preventDefault();
    if (runButton.disabled) return;
    for (const field of fields.values()) field.showError("");
    setStatus("");
    const missingField = [...fields.values()].find(field => field.isMissing());
    if (missingField) {
      missingField.showError(t("This option is required."));
      missingField.focus();
      return;
    }
    const files = [];
    const values = readOptions(files);
    const commandData = interactionData(entry, values);
    if (files.length)
      commandData.attachments = files.map((file, index) => ({ id: String(index), filename: file.name }));
    setBusy(true);
    try {
      await getInteractions(context).send(context, {
        type: APPLICATION_COMMAND,
        applicationId: entry.application.id,
        data: commandData,
        files,
      });
      if (node.isConnected) onDone(true);
    } catch (error) {
      showErrors(error, values);
    } finally {
      setBusy(false);
    }
  }

  function showErrors(error, values) {
    if (!node.isConnected) return showNotice(`/${entry.name}: ${error.message}`, "problem");
    let firstInvalidField = null;
    for (const [name, text] of optionErrors(entry, values, error.errors)) {
      const option = entry.options.find(declared => declared.name === name);
      if (option && !fields.has(name)) addOptional(option);
      fields.get(name)?.showError(text);
      firstInvalidField ??= fields.get(name);
    }
    firstInvalidField?.focus();
    if (firstInvalidField) return;
    const isOutdated = error.errors?.data?._errors?.some(fieldError => fieldError.code === OUTDATED_VERSION_CODE);
    if (isOutdated) fetchCommands(context, { bypassCache: true }).catch(() => {});
    setStatus(
      isOutdated ? t("This command has changed. Cancel and select it again.") : (error.userText ?? error.message),
    );
  }

  function setBusy(isBusy) {
    runButton.disabled = isBusy;
    runButton.classList.toggle("waiting", isBusy);
    node.setAttribute("aria-busy", String(isBusy));
  }

  function setStatus(text) {
    status.textContent = text;
    status.hidden = !text;
  }

  function onKeydown(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      onDone(false);
    } else if (event.key === "Enter" && event.target.matches("input:not([type=file])")) {
      event.preventDefault();
      node.requestSubmit();
    }
  }
}
