/** Buttons of messages: interactive, link and premium; also the function that sends interactions of components. */

import { ButtonStyle } from "../generated/enums.js";
import { MESSAGE_COMPONENT, getInteractions } from "../network/interactions.js";
import { bindToChannel } from "../state/context.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { emojiElement } from "../content/emoji/element.js";
import { fetchSkuLabel } from "./sku_labels.js";

const { LINK, PREMIUM } = ButtonStyle;
const STYLE_CLASSES = new Map([
  [ButtonStyle.PRIMARY, "primary"],
  [ButtonStyle.SECONDARY, "secondary"],
  [ButtonStyle.SUCCESS, "success"],
  [ButtonStyle.DANGER, "danger"],
]);

/** Return the node of a message button: a button that sends an interaction, or a link for link and premium buttons. */
export function renderButton(component, { message, context }) {
  const { style, label, disabled, url, sku_id: skuId } = component;
  if (style === PREMIUM) return premiumButton(skuId, Boolean(disabled), message, context);
  const content = [component.emoji ? emojiElement(component.emoji) : null, label ? h("span", {}, label) : null];
  if (style === LINK) {
    const href = disabled ? null : safeUrl(url);
    const attributes = { class: "component-button link", title: url };
    if (!href) return h("span", { ...attributes, "aria-disabled": "true", role: "link" }, ...content);
    const externalMark = h("span", { class: "external-mark", "aria-hidden": "true" }, "↗");
    return h(
      "a",
      { ...attributes, href, target: "_blank", rel: "noopener noreferrer nofollow" },
      ...content,
      externalMark,
    );
  }
  const key = `${message.id}:${component.custom_id}`;
  const dataset = { key, focus: component.custom_id };
  const node = h(
    "button",
    { type: "button", class: `component-button ${STYLE_CLASSES.get(style) ?? "secondary"}`, dataset, onclick: onClick },
    ...content,
  );
  if (!label && component.emoji) node.setAttribute("aria-label", component.emoji.name ?? t("Button"));
  node.disabled = Boolean(disabled);
  return node;

  async function onClick() {
    await sendComponentInteraction(component, undefined, { message, context });
  }
}

/**
 * Send a component interaction to the app and return whether it succeeded. The message shows its progress and errors.
 *
 * @param {string[]|undefined} values selected values
 */
export async function sendComponentInteraction(component, values, { message, context }) {
  const interactions = getInteractions(context);
  const key = `${message.id}:${component.custom_id}`;
  if (interactions.state(key) === "waiting") return false;
  interactions.clearErrors(`${message.id}:`);
  const data = { component_type: component.type, custom_id: component.custom_id };
  if (values) data.values = values;
  const request = {
    type: MESSAGE_COMPONENT,
    applicationId: applicationIdOf(message),
    messageId: message.id,
    data,
    key,
  };
  try {
    await interactions.send(bindToChannel(context, message.channel_id ?? context.channelId), request);
    return true;
  } catch {
    // The message shows the error below its components.
    return false;
  }
}

/** Return the application ID of a message. Messages of bots may lack it; a bot's user ID equals its application ID. */
function applicationIdOf(message) {
  return message.application_id ?? message.author.id;
}

function premiumButton(skuId, isDisabled, message, context) {
  const applicationId = applicationIdOf(message);
  const name = h("span", {}, t("View in store"));
  const href = `/application-directory/${encodeURIComponent(applicationId)}/store/${encodeURIComponent(skuId)}`;
  const node = isDisabled
    ? h("span", { class: "component-button premium", "aria-disabled": "true", role: "link" })
    : h("a", { class: "component-button premium", href, target: "_blank", rel: "noopener" });
  node.append(h("span", { "aria-hidden": "true" }, "◆"), name);
  fetchSkuLabel(context, applicationId, skuId).then(content => content && name.replaceChildren(content));
  return node;
}

/** Return the URL if it is http or https, else null. */
function safeUrl(url) {
  try {
    const parsedUrl = new URL(url);
    return parsedUrl.protocol === "http:" || parsedUrl.protocol === "https:" ? parsedUrl.href : null;
  } catch {
    return null;
  }
}
