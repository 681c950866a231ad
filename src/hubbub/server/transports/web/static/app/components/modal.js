/**
 * Modals: forms that apps open (spec/webhooks-and-interactions.md#4.3, 4.4).
 *
 * The server validates the values and returns errors by field.
 */

import { ComponentType } from "../generated/enums.js";
import { MODAL_SUBMIT, getInteractions } from "../network/interactions.js";
import { bindToChannel } from "../state/context.js";
import { openDialog } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { renderMarkdown } from "../content/markdown.js";
import { createModalField } from "./modal_fields.js";

const { ACTION_ROW, TEXT_DISPLAY, LABEL } = ComponentType;

/**
 * Open a modal.
 *
 * @param {object} modal the INTERACTION_MODAL_CREATE payload: id, application, custom_id, title, components
 * @param {object} context {api, gateway, state, me, channelId, guildId}
 * @returns {HTMLDialogElement}
 */
export function openModal(modal, context) {
  const channelContext = bindToChannel(context, modal.channel_id ?? context.channelId);
  const sections = (modal.components ?? []).map(component => sectionOf(component, channelContext));
  const problem = h("p", { class: "modal-problem", role: "alert", hidden: true });
  const submitButton = h("button", { type: "submit", class: "button" }, t("Submit"));
  const form = h(
    "form",
    { class: "modal-form", novalidate: true, onsubmit: submitModal },
    h(
      "p",
      { class: "modal-app" },
      t("This form is submitted to {app}. Never enter passwords.", { app: modal.application?.name ?? t("an app") }),
    ),
    h(
      "div",
      { class: "modal-parts" },
      sections.map(({ node }) => node),
    ),
    problem,
    h(
      "div",
      { class: "modal-foot" },
      h("button", { type: "button", class: "button quiet", onclick: () => dialog.close() }, t("Cancel")),
      submitButton,
    ),
  );
  const dialog = openDialog(modal.title, () => form);
  form.querySelector("input, textarea, .picker-button")?.focus();
  return dialog;

  async function submitModal(event) {
    event.preventDefault();
    if (submitButton.disabled) return;
    setBusy(true);
    setProblem("");
    for (const section of sections) section.fields.forEach(field => field.setErrors([]));
    const files = [];
    const components = sections.map(section => section.read(files));
    const data = { id: modal.id, custom_id: modal.custom_id, components };
    if (files.length) data.attachments = files.map((file, index) => ({ id: String(index), filename: file.name }));
    try {
      await getInteractions(context).send(channelContext, {
        type: MODAL_SUBMIT,
        applicationId: modal.application.id,
        data,
        files,
      });
      dialog.close();
    } catch (error) {
      showErrors(error);
    } finally {
      setBusy(false);
    }
  }

  function setBusy(isBusy) {
    submitButton.disabled = isBusy;
    submitButton.setAttribute("aria-busy", String(isBusy));
    submitButton.classList.toggle("waiting", isBusy);
  }

  function setProblem(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  /**
   * Show errors at their fields and focus the first of these fields. If no field has an error, show the text above the
   * buttons.
   */
  function showErrors(error) {
    const componentErrors = error.errors?.data?.components ?? {};
    let firstInvalidField = null;
    sections.forEach((section, index) =>
      section.fields.forEach((field, fieldIndex) => {
        const messages = errorMessages(section.errorsAt(componentErrors[index], fieldIndex));
        field.setErrors(messages);
        if (messages.length) firstInvalidField ??= field;
      }),
    );
    firstInvalidField?.focus();
    if (!firstInvalidField) setProblem(error.userText ?? error.message);
  }
}

/** Return a section of the form: its node, its fields, a reader of its values, and a lookup of a field's errors. */
function sectionOf(component, context) {
  if (component.type === TEXT_DISPLAY) {
    const node = h("div", { class: "modal-text" }, renderMarkdown(component.content ?? "", { context }));
    return { node, fields: [], read: () => ({ type: TEXT_DISPLAY, id: component.id }), errorsAt: () => null };
  }
  if (component.type === LABEL) {
    const field = createModalField(component.component, component.label, component.description, context);
    const read = files => ({ type: LABEL, id: component.id, component: field.read(files) });
    return { node: field.node, fields: [field], read, errorsAt: errors => errors?.component };
  }
  const inputs = component.type === ACTION_ROW ? (component.components ?? []) : [];
  const fields = inputs.map(input => createModalField(input, input.label ?? "", undefined, context));
  return {
    node: setChildren(
      h("div", { class: "modal-row" }),
      fields.map(({ node }) => node),
    ),
    fields,
    read: files => ({ type: ACTION_ROW, id: component.id, components: fields.map(field => field.read(files)) }),
    errorsAt: (errors, index) => errors?.components?.[index],
  };
}

/** Return all messages below a node of a form error. */
function errorMessages(node) {
  if (node === null || typeof node !== "object") return [];
  if (Array.isArray(node._errors)) return node._errors.map(({ message }) => String(message));
  return [...new Set(Object.values(node).flatMap(errorMessages))];
}
