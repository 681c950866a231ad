/** The components of messages: rows of things to press and choose, and the newer parts that messages are laid out with
 * (webhooks-and-interactions.md 4). */

import { button } from "./component_buttons.js";
import { file, gallery, thumbnail } from "./component_media.js";
import { select } from "./component_selects.js";
import { veil } from "./component_veil.js";
import { h } from "./dom.js";
import { interactionsOf } from "./interactions.js";
import { markdown } from "./markdown.js";

const LOADING = 1 << 7;
const NESTED_MAX = 8;

const PARTS = new Map([
  [1, row],
  [2, button],
  [3, select],
  [5, select],
  [6, select],
  [7, select],
  [8, select],
  [9, section],
  [10, text],
  [11, thumbnail],
  [12, gallery],
  [13, file],
  [14, separator],
  [17, container],
]);

/**
 * What a message shows below its words, or in their place.
 * @param {object} message as the wire has it
 * @param {object} context {api, gateway, state, me, channelId, guildId}
 * @returns {HTMLElement|null}
 */
export function renderComponents(message, context) {
  const components = message.components ?? [];
  if (!components.length || (message.flags ?? 0) & LOADING) return null;
  watch(context);
  const place = { message, context, depth: 0 };
  const status = h("p", { class: "component-status", role: "status", "data-message": message.id });
  const root = h("div", { class: "components", role: "group", "aria-label": "App controls" }, ...components.map(each => draw(each, place)), status);
  tell(root, message.id, interactionsOf(context));
  return root;
}

function draw(component, place) {
  const part = PARTS.get(component?.type);
  // What comes after us is said and not hidden: the message may make no sense without it.
  if (!part || place.depth > NESTED_MAX) return h("p", { class: "component-unknown" }, "This part cannot be shown here.");
  return part(component, { ...place, depth: place.depth + 1, draw });
}

function row({ components = [] }, place) {
  return h("div", { class: "component-row" }, ...components.map(each => draw(each, place)));
}

function section({ components = [], accessory }, place) {
  return h(
    "div",
    { class: "component-section" },
    h("div", { class: "component-texts" }, ...components.map(each => draw(each, place))),
    accessory ? h("div", { class: "component-accessory" }, draw(accessory, place)) : null,
  );
}

function text({ content = "" }, { message, context }) {
  return h("div", { class: "component-text" }, markdown(content, { context, message }));
}

function separator({ divider = true, spacing = 1 }) {
  const size = spacing === 2 ? "component-separator large" : "component-separator";
  return divider ? h("hr", { class: size }) : h("div", { class: size, "aria-hidden": "true" });
}

function container({ components = [], accent_color: accent, spoiler = false }, place) {
  const inside = h("div", { class: "component-container" }, ...components.map(each => draw(each, place)));
  if (typeof accent === "number") {
    inside.classList.add("accented");
    inside.style.setProperty("--accent-color", `#${accent.toString(16).padStart(6, "0")}`);
  }
  return spoiler ? veil(inside) : inside;
}

const watched = new WeakSet();

/** Show on the page what becomes of what was pressed, also where the message was drawn anew in between. */
function watch(context) {
  const interactions = interactionsOf(context);
  if (watched.has(interactions)) return;
  watched.add(interactions);
  interactions.addEventListener("state", ({ detail: key }) => {
    const message = key.split(":", 1)[0];
    for (const status of document.querySelectorAll(`.component-status[data-message="${CSS.escape(message)}"]`)) {
      tell(status.parentElement, message, interactions);
    }
  });
}

function tell(root, message, interactions) {
  let problem = "";
  for (const each of root.querySelectorAll("[data-key]")) {
    const state = interactions.state(each.dataset.key);
    const waits = state === "waiting";
    each.classList.toggle("waiting", waits);
    each.setAttribute("aria-busy", String(waits));
    if (state && !waits) problem = state;
  }
  const status = root.querySelector(`:scope > .component-status[data-message="${CSS.escape(message)}"]`);
  status.textContent = problem;
  status.hidden = !problem;
}
