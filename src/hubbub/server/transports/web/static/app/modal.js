/** Modals: a form that an app shows, to be filled in or put away (webhooks-and-interactions.md 4.3, 4.4).
 *
 * What a field takes is checked by the platform, which shows every error at its place; here is only prevented what could never be sent. */

import { at } from "./context.js";
import { h, replace } from "./dom.js";
import { SUBMIT, interactionsOf } from "./interactions.js";
import { markdown } from "./markdown.js";
import { fieldOf } from "./modal_fields.js";
import { openDialog } from "./parts.js";

const ACTION_ROW = 1;
const TEXT_DISPLAY = 10;
const LABEL = 18;

/**
 * Show a modal over everything.
 * @param {object} modal INTERACTION_MODAL_CREATE's data: id, application, custom_id, title, components
 * @param {object} context {api, gateway, state, me, channelId, guildId}
 * @returns {HTMLDialogElement}
 */
export function openModal(modal, context) {
  const here = at(context, modal.channel_id ?? context.channelId);
  const parts = (modal.components ?? []).map(each => partOf(each, here));
  const problem = h("p", { class: "modal-problem", role: "alert", hidden: true });
  const send = h("button", { type: "submit", class: "button" }, "Submit");
  const form = h(
    "form",
    { class: "modal-form", novalidate: true, onsubmit: submit },
    h("p", { class: "modal-app" }, `This form is ${modal.application?.name ?? "an app"}’s. Never tell it a password.`),
    h("div", { class: "modal-parts" }, parts.map(({ node }) => node)),
    problem,
    h("div", { class: "modal-foot" }, h("button", { type: "button", class: "button quiet", onclick: () => dialog.close() }, "Cancel"), send),
  );
  const dialog = openDialog(modal.title, () => form);
  form.querySelector("input, textarea, .picker-button")?.focus();
  return dialog;

  async function submit(event) {
    event.preventDefault();
    if (send.disabled) return;
    waiting(true);
    say("");
    for (const part of parts) part.fields.forEach(field => field.blame([]));
    const files = [];
    const components = parts.map(part => part.read(files));
    const data = { id: modal.id, custom_id: modal.custom_id, components };
    if (files.length) data.attachments = files.map((file, at) => ({ id: String(at), filename: file.name }));
    try {
      await interactionsOf(context).ask(here, { type: SUBMIT, applicationId: modal.application.id, data, files });
      dialog.close();
    } catch (error) {
      blame(error);
    } finally {
      waiting(false);
    }
  }

  function waiting(on) {
    send.disabled = on;
    send.setAttribute("aria-busy", String(on));
    send.classList.toggle("waiting", on);
  }

  function say(words) {
    problem.textContent = words;
    problem.hidden = !words;
  }

  /** Every error at its field, what belongs to none above the buttons; then to the first one. */
  function blame(error) {
    const found = error.errors?.data?.components ?? {};
    let first = null;
    parts.forEach((part, at) =>
      part.fields.forEach((field, inner) => {
        const words = sentences(part.path(found[at], inner));
        field.blame(words);
        if (words.length) first ??= field;
      }),
    );
    first?.focus();
    if (!first) say(error.sentence ?? error.message);
  }
}

/** One part of the form: its node, its fields, what it answers, and where the platform puts errors about it. */
function partOf(component, context) {
  if (component.type === TEXT_DISPLAY) {
    const node = h("div", { class: "modal-text" }, markdown(component.content ?? "", { context }));
    return { node, fields: [], read: () => ({ type: TEXT_DISPLAY, id: component.id }), path: () => null };
  }
  if (component.type === LABEL) {
    const field = fieldOf(component.component, component.label, component.description, context);
    const read = files => ({ type: LABEL, id: component.id, component: field.read(files) });
    return { node: field.node, fields: [field], read, path: errors => errors?.component };
  }
  const inner = component.type === ACTION_ROW ? (component.components ?? []) : [];
  const fields = inner.map(each => fieldOf(each, each.label ?? "", undefined, context));
  return {
    node: replace(h("div", { class: "modal-row" }), fields.map(({ node }) => node)),
    fields,
    read: files => ({ type: ACTION_ROW, id: component.id, components: fields.map(field => field.read(files)) }),
    path: (errors, at) => errors?.components?.[at],
  };
}

/** All that is said below a place in a form error. */
function sentences(node) {
  if (node === null || typeof node !== "object") return [];
  if (Array.isArray(node._errors)) return node._errors.map(({ message }) => String(message));
  return [...new Set(Object.values(node).flatMap(sentences))];
}
