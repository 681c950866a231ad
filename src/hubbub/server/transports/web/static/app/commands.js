/** Commands of apps: typing `/` opens a list of them; those of menus are run on a person or a message. */

import { MESSAGE, USER, commandsIn, dataOf, matching } from "./command_index.js";
import { commandForm } from "./command_form.js";
import { at } from "./context.js";
import { h, replace } from "./dom.js";
import { RUN, interactionsOf } from "./interactions.js";
import { mark } from "./app_marks.js";
import { notice } from "./notices.js";

const SHOWN = 40;
const TYPED = /^\/([^\n]{0,80})$/;
let count = 0;

/**
 * Offer commands in a composer. Called once for each; `context` may be a function where the composer outlives a channel.
 * @param {{node: HTMLElement, field: HTMLTextAreaElement}} composer `node` holds `field`, and shows a form in its place
 * @param {object|(() => object)} context {api, gateway, state, me, channelId, guildId}
 * @returns {{close: () => void}} put away what is open, for when the channel changes
 */
export function commandPicker(composer, context) {
  const { node, field } = composer;
  const here = () => (typeof context === "function" ? context() : context);
  const id = `commands-${(count += 1)}`;
  const list = h("ul", { class: "command-list", role: "listbox", id, "aria-label": "Commands" });
  const status = h("p", { class: "visually-hidden", role: "status" });
  const popup = h("div", { class: "command-popup", popover: "manual" }, list);
  let shown = [];
  let active = 0;
  let asked = 0;
  let form = null;
  node.append(popup, status);
  field.addEventListener("input", look);
  field.addEventListener("blur", () => close());
  // Before the composer itself, which sends with Enter.
  node.addEventListener("keydown", pressed, { capture: true });
  return {
    close() {
      close();
      restore("");
    },
  };

  async function look() {
    const typed = TYPED.exec(field.value);
    asked += 1;
    const mine = asked;
    if (!typed || form) return close();
    let found;
    try {
      found = await commandsIn(here());
    } catch {
      return close();
    }
    if (mine !== asked) return;
    shown = matching(found, typed[1].trimEnd()).slice(0, SHOWN);
    active = 0;
    if (!shown.length) return close();
    draw();
  }

  function draw() {
    replace(
      list,
      shown.map((entry, at) =>
        h(
          "li",
          {
            id: `${id}-${at}`, role: "option", class: "command-option", "aria-selected": "false",
            onmousedown: event => taken(event, at), onmousemove: () => point(at),
          },
          mark(entry.application),
          h("span", { class: "command-label" }, h("strong", null, `/${entry.name}`), h("span", null, entry.description)),
          h("small", null, entry.application.name),
        ),
      ),
    );
    if (!popup.matches(":popover-open")) popup.showPopover();
    place();
    field.setAttribute("aria-controls", id);
    field.setAttribute("aria-autocomplete", "list");
    status.textContent = `${shown.length} ${shown.length === 1 ? "command" : "commands"}`;
    point(0);
  }

  function place() {
    const box = node.getBoundingClientRect();
    popup.style.left = `${Math.max(8, box.left)}px`;
    popup.style.width = `${Math.min(box.width, window.innerWidth - 16)}px`;
    popup.style.bottom = `${window.innerHeight - box.top + 6}px`;
    popup.style.maxHeight = `${Math.min(360, box.top - 16)}px`;
  }

  function point(at) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = at;
    const item = list.children[active];
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) field.setAttribute("aria-activedescendant", item.id);
  }

  function close() {
    asked += 1;
    shown = [];
    if (popup.matches(":popover-open")) popup.hidePopover();
    field.removeAttribute("aria-activedescendant");
    field.removeAttribute("aria-controls");
    status.textContent = "";
  }

  function pressed(event) {
    if (form || event.target !== field || !shown.length || event.isComposing) return;
    const last = shown.length - 1;
    if (event.key === "ArrowDown") point(active >= last ? 0 : active + 1);
    else if (event.key === "ArrowUp") point(active <= 0 ? last : active - 1);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) take(shown[active]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function taken(event, at) {
    event.preventDefault();
    take(shown[at]);
  }

  function take(entry) {
    const typed = field.value;
    close();
    field.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    form = commandForm(entry, here(), ran => {
      restore(ran ? "" : typed);
      field.focus();
    });
    node.classList.add("commanding");
    node.append(form.node);
    form.focus();
  }

  function restore(words) {
    if (!form) return;
    form.node.remove();
    form = null;
    node.classList.remove("commanding");
    // What was typed comes back without the list, or it would open again at once.
    field.value = words;
    asked += 1;
  }
}

/**
 * The commands of the menu on a person.
 * @returns {Promise<{label: string, application: object, press: () => Promise<boolean>}[]>}
 */
export function userCommands(context, user) {
  return menu(USER, context, user.id);
}

/** The commands of the menu on a message. */
export function messageCommands(context, message) {
  return menu(MESSAGE, at(context, message.channel_id ?? context.channelId), message.id);
}

async function menu(type, context, target) {
  const found = await commandsIn(context);
  return found
    .filter(({ command }) => command.type === type)
    .map(entry => ({ label: entry.name, application: entry.application, press: () => runOn(entry, context, target) }));
}

/** Run a command of a menu, or an entry point; what goes wrong is said. */
export async function runOn(entry, context, target) {
  const data = dataOf(entry, []);
  if (target) data.target_id = target;
  try {
    await interactionsOf(context).ask(context, { type: RUN, applicationId: entry.application.id, data });
    return true;
  } catch (error) {
    notice(`${entry.name}: ${error.sentence ?? error.message}`, "problem");
    return false;
  }
}
