/** A command being filled in: a field for each option, run with Enter, put away with Escape. */

import { commandsIn, dataOf, errorsOf, nameOf, translated } from "./command_index.js";
import { optionField, partial } from "./command_options.js";
import { h, replace } from "./dom.js";
import { COMPLETE, RUN, interactionsOf } from "./interactions.js";
import { notice } from "./notices.js";

const OUTDATED = "INTERACTION_APPLICATION_COMMAND_INVALID_VERSION";

/**
 * @param {import("./command_index.js").Entry} entry
 * @param {object} context
 * @param {(ran: boolean) => void} done called once it was run or put away
 * @returns {{node: HTMLElement, focus: () => void}}
 */
export function commandForm(entry, context, done) {
  const fields = new Map();
  const rows = h("div", { class: "command-fields" });
  const more = h("div", { class: "command-more" });
  const status = h("p", { class: "command-status", role: "alert", hidden: true });
  const send = h("button", { type: "submit", class: "button small" }, "Run");
  const node = h(
    "form",
    { class: "command-form", novalidate: true, "aria-label": `Command ${entry.name} of ${entry.application.name}`, onsubmit: run, onkeydown: pressed },
    h(
      "div",
      { class: "command-head" },
      h("strong", { class: "command-name" }, `/${entry.name}`),
      h("span", { class: "command-app" }, entry.application.name),
      h("span", { class: "command-words" }, entry.description),
      h("button", { type: "button", class: "button quiet small", onclick: () => done(false) }, "Cancel"),
      send,
    ),
    rows,
    more,
    status,
  );
  for (const option of entry.options) if (option.required) add(option);
  offer();
  return { node, focus: () => ([...fields.values()][0] ?? { focus: () => send.focus() }).focus() };

  function add(option, at = null) {
    const field = optionField(option, context, typed => complete(option, typed));
    fields.set(option.name, field);
    rows.append(field.node);
    if (at) field.focus();
  }

  /** Options that may be left out are only offered. */
  function offer() {
    const left = entry.options.filter(({ name }) => !fields.has(name));
    const button = option => {
      const title = option.description_localized ?? option.description;
      return h("button", { type: "button", class: "command-offer", title, onclick: () => wanted(option) }, `+ ${nameOf(option)}`);
    };
    replace(more, left.map(button));
    more.hidden = !left.length;
  }

  function wanted(option) {
    add(option, true);
    offer();
  }

  /** What is filled in, in the order of the command; files are named by their place among those that are sent. */
  function read(files) {
    return entry.options.flatMap(option => {
      const value = fields.get(option.name)?.read(files);
      return value === undefined ? [] : [{ type: option.type, name: option.name, value }];
    });
  }

  async function complete(option, typed) {
    const given = read(null)
      .filter(({ name }) => name !== option.name)
      .map(each => ({ ...each, value: partial(each.value, entry.options.find(({ name }) => name === each.name)) }));
    const values = [...given, { type: option.type, name: option.name, value: typed, focused: true }];
    const order = entry.options.map(({ name }) => name);
    values.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
    const question = { type: COMPLETE, applicationId: entry.application.id, data: dataOf(entry, values) };
    const { choices } = await interactionsOf(context).ask(context, question);
    return (choices ?? []).map(each => ({ name: translated(each), value: each.value }));
  }

  async function run(event) {
    event.preventDefault();
    if (send.disabled) return;
    for (const field of fields.values()) field.blame("");
    say("");
    const lacking = [...fields.values()].find(field => field.lacks());
    if (lacking) {
      lacking.blame("This is needed.");
      lacking.focus();
      return;
    }
    const files = [];
    const values = read(files);
    const data = dataOf(entry, values);
    if (files.length) data.attachments = files.map((file, at) => ({ id: String(at), filename: file.name }));
    waiting(true);
    try {
      await interactionsOf(context).ask(context, { type: RUN, applicationId: entry.application.id, data, files });
      if (node.isConnected) done(true);
    } catch (error) {
      blame(error, values);
    } finally {
      waiting(false);
    }
  }

  function blame(error, values) {
    if (!node.isConnected) return notice(`/${entry.name}: ${error.message}`, "problem");
    let first = null;
    for (const [name, words] of errorsOf(entry, values, error.errors)) {
      const option = entry.options.find(each => each.name === name);
      if (option && !fields.has(name)) wanted(option);
      fields.get(name)?.blame(words);
      first ??= fields.get(name);
    }
    first?.focus();
    if (first) return;
    const outdated = error.errors?.data?._errors?.some(each => each.code === OUTDATED);
    if (outdated) commandsIn(context, true).catch(() => {});
    say(outdated ? "This command has changed. Cancel, and choose it again." : error.sentence ?? error.message);
  }

  function waiting(on) {
    send.disabled = on;
    send.classList.toggle("waiting", on);
    node.setAttribute("aria-busy", String(on));
  }

  function say(words) {
    status.textContent = words;
    status.hidden = !words;
  }

  function pressed(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      done(false);
    } else if (event.key === "Enter" && event.target.matches("input:not([type=file])")) {
      event.preventDefault();
      node.requestSubmit();
    }
  }
}
