/** Buttons: five that ask or lead somewhere, and one that sells. */

import { at } from "./context.js";
import { h } from "./dom.js";
import { emoji } from "./emoji_mark.js";
import { USE, interactionsOf } from "./interactions.js";
import { priceOf } from "./prices.js";

const LINK = 5;
const PREMIUM = 6;
const STYLES = new Map([[1, "primary"], [2, "secondary"], [3, "success"], [4, "danger"]]);

/** One button of a message. */
export function button(component, { message, context }) {
  const { style, label, disabled, url, sku_id: sku } = component;
  if (style === PREMIUM) return premium(sku, Boolean(disabled), message, context);
  const words = [component.emoji ? emoji(component.emoji) : null, label ? h("span", {}, label) : null];
  if (style === LINK) {
    const safe = disabled ? null : webAddress(url);
    const attributes = { class: "component-button link", title: url };
    if (!safe) return h("span", { ...attributes, "aria-disabled": "true", role: "link" }, ...words);
    const out = h("span", { class: "component-out", "aria-hidden": "true" }, "↗");
    return h("a", { ...attributes, href: safe, target: "_blank", rel: "noopener noreferrer nofollow" }, ...words, out);
  }
  const key = `${message.id}:${component.custom_id}`;
  const dataset = { key, focus: component.custom_id };
  const node = h("button", { type: "button", class: `component-button ${STYLES.get(style) ?? "secondary"}`, dataset, onclick: press }, ...words);
  if (!label && component.emoji) node.setAttribute("aria-label", component.emoji.name ?? "Button");
  node.disabled = Boolean(disabled);
  return node;

  async function press() {
    await use(component, undefined, { message, context });
  }
}

/**
 * Use a component: ask its app, and let the page show what becomes of it.
 * @param {string[]|undefined} values what was chosen
 */
export async function use(component, values, { message, context }) {
  const interactions = interactionsOf(context);
  const key = `${message.id}:${component.custom_id}`;
  if (interactions.state(key) === "waiting") return false;
  interactions.forget(`${message.id}:`);
  const data = { component_type: component.type, custom_id: component.custom_id };
  if (values) data.values = values;
  const question = { type: USE, applicationId: applicationOf(message), messageId: message.id, data, key };
  try {
    await interactions.ask(at(context, message.channel_id ?? context.channelId), question);
    return true;
  } catch {
    // Beside the component stands what went wrong.
    return false;
  }
}

/** Whose message it is: a bot's own messages do not say, and bots have their application's id. */
function applicationOf(message) {
  return message.application_id ?? message.author.id;
}

function premium(sku, disabled, message, context) {
  const application = applicationOf(message);
  const name = h("span", {}, "Get it in the store");
  const href = `/application-directory/${encodeURIComponent(application)}/store/${encodeURIComponent(sku)}`;
  const node = disabled
    ? h("span", { class: "component-button premium", "aria-disabled": "true", role: "link" })
    : h("a", { class: "component-button premium", href, target: "_blank", rel: "noopener" });
  node.append(h("span", { "aria-hidden": "true" }, "◆"), name);
  priceOf(context, application, sku).then((words) => words && name.replaceChildren(words));
  return node;
}

/** An address that may be a link: only those that a browser opens as a page. */
function webAddress(url) {
  try {
    const parsed = new URL(url);
    return parsed.protocol === "http:" || parsed.protocol === "https:" ? parsed.href : null;
  } catch {
    return null;
  }
}
