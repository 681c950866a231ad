/** Message components: rows of interactive components, and layout components (spec/webhooks-and-interactions.md#4). */

import { ComponentType, MessageFlags } from "../generated/enums.js";
import { getInteractions } from "../network/interactions.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { renderMarkdown } from "../content/markdown.js";
import { renderButton } from "./buttons.js";
import { renderFile, renderGallery, renderThumbnail } from "./media.js";
import { renderSelect } from "./selects.js";
import { coverSpoiler } from "./spoiler.js";

const NESTING_MAX = 8;
/** Value of a separator's `spacing` for large padding. */
const LARGE_SPACING = 2;

const RENDERERS = new Map([
  [ComponentType.ACTION_ROW, renderRow],
  [ComponentType.BUTTON, renderButton],
  [ComponentType.STRING_SELECT, renderSelect],
  [ComponentType.USER_SELECT, renderSelect],
  [ComponentType.ROLE_SELECT, renderSelect],
  [ComponentType.MENTIONABLE_SELECT, renderSelect],
  [ComponentType.CHANNEL_SELECT, renderSelect],
  [ComponentType.SECTION, renderSection],
  [ComponentType.TEXT_DISPLAY, renderText],
  [ComponentType.THUMBNAIL, renderThumbnail],
  [ComponentType.MEDIA_GALLERY, renderGallery],
  [ComponentType.FILE, renderFile],
  [ComponentType.SEPARATOR, renderSeparator],
  [ComponentType.CONTAINER, renderContainer],
]);

/**
 * Return the components of a message; null if it has none, or while the app's response is loading.
 *
 * @param {object} message as on the wire
 * @param {object} context {api, gateway, state, me, channelId, guildId}
 * @returns {HTMLElement|null}
 */
export function renderComponents(message, context) {
  const components = message.components ?? [];
  if (!components.length || (message.flags ?? 0) & MessageFlags.LOADING) return null;
  watchInteractions(context);
  const scope = { message, context, depth: 0 };
  const status = h("p", { class: "component-status", role: "status", "data-message": message.id });
  const root = h(
    "div",
    { class: "components", role: "group", "aria-label": t("App controls") },
    ...components.map(component => drawComponent(component, scope)),
    status,
  );
  updateStatus(root, message.id, getInteractions(context));
  return root;
}

function drawComponent(component, scope) {
  const render = RENDERERS.get(component?.type);
  // Show a placeholder for unknown types and too many levels: without it the message may be misleading.
  if (!render || scope.depth > NESTING_MAX)
    return h("p", { class: "component-unknown" }, t("This content cannot be displayed."));
  return render(component, { ...scope, depth: scope.depth + 1 });
}

function renderRow({ components = [] }, scope) {
  return h("div", { class: "component-row" }, ...components.map(component => drawComponent(component, scope)));
}

function renderSection({ components = [], accessory }, scope) {
  return h(
    "div",
    { class: "component-section" },
    h("div", { class: "component-texts" }, ...components.map(component => drawComponent(component, scope))),
    accessory ? h("div", { class: "component-accessory" }, drawComponent(accessory, scope)) : null,
  );
}

function renderText({ content = "" }, { message, context }) {
  return h("div", { class: "component-text" }, renderMarkdown(content, { context, message }));
}

function renderSeparator({ divider = true, spacing = 1 }) {
  const className = spacing === LARGE_SPACING ? "component-separator large" : "component-separator";
  return divider ? h("hr", { class: className }) : h("div", { class: className, "aria-hidden": "true" });
}

function renderContainer({ components = [], accent_color: accent, spoiler = false }, scope) {
  const content = h(
    "div",
    { class: "component-container" },
    ...components.map(component => drawComponent(component, scope)),
  );
  if (typeof accent === "number") {
    content.classList.add("accented");
    content.style.setProperty("--accent-color", `#${accent.toString(16).padStart(6, "0")}`);
  }
  return spoiler ? coverSpoiler(content) : content;
}

const watchedInteractions = new WeakSet();

/** Register a listener that updates the status of pressed components, also after the message was rebuilt. */
function watchInteractions(context) {
  const interactions = getInteractions(context);
  if (watchedInteractions.has(interactions)) return;
  watchedInteractions.add(interactions);
  // A key is "<message ID>:<custom ID>", set as data-key by buttons.js and selects.js.
  interactions.addEventListener("state", ({ detail: key }) => {
    const messageId = key.split(":", 1)[0];
    for (const status of document.querySelectorAll(`.component-status[data-message="${CSS.escape(messageId)}"]`)) {
      updateStatus(status.parentElement, messageId, interactions);
    }
  });
}

/** Mark waiting components, and show the error of a failed one: a state is "waiting", an error text or undefined. */
function updateStatus(root, messageId, interactions) {
  let problem = "";
  for (const element of root.querySelectorAll("[data-key]")) {
    const state = interactions.state(element.dataset.key);
    const isWaiting = state === "waiting";
    element.classList.toggle("waiting", isWaiting);
    element.setAttribute("aria-busy", String(isWaiting));
    if (state && !isWaiting) problem = state;
  }
  const status = root.querySelector(`:scope > .component-status[data-message="${CSS.escape(messageId)}"]`);
  status.textContent = problem;
  status.hidden = !problem;
}
