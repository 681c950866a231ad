/** The view in place of a channel that cannot be shown. */

import { h, icon } from "./ui/dom.js";
import { t } from "./ui/translation.js";

/** Return the text in place of a channel of a guild that the user is no longer a member of. The server does not send the cause. */
export function formerGuildText(name) {
  return [
    h("strong", { dir: "auto" }, t("You are no longer a member of {guild}.", { guild: name })),
    " ",
    t(
      "A moderator removed or banned you, you left in another window, or the guild was deleted. If you were" +
        " removed, you can join again with an invite. If you were banned, a moderator has to lift the ban " +
        "first.",
    ),
  ];
}

/**
 * Return the text in place of a conversation that the user cannot see. For a guild in an outage it is an element, which
 * shows the reason as soon as the server sent it: the operators may have suspended the guild.
 */
export function missingText(context, guildId) {
  if (!context.state.guilds.get(guildId)?.unavailable)
    return t("This conversation does not exist, or you do not have access to it.");
  const node = h("span", { dir: "auto" }, t("This guild is temporarily unavailable."));
  context.api.request("GET", `/guilds/${guildId}`).catch(error => {
    if (error.status === 403) node.textContent = error.message;
  });
  return node;
}

/** Return the view with a text; `showSide` opens the list of channels on narrow screens. */
export function createUnavailableView(text, showSide) {
  return h(
    "div",
    { class: "unavailable" },
    h(
      "header",
      { class: "view-head" },
      h(
        "button",
        {
          type: "button",
          class: "icon-button to-side",
          "aria-label": t("Channels and conversations"),
          onclick: showSide,
        },
        icon("menu"),
      ),
    ),
    h(
      "div",
      { class: "empty" },
      h("p", { role: "status" }, text),
      h("p", null, h("a", { href: "/app" }, t("Friends and conversations"))),
    ),
  );
}
