/** The quick switcher: a dialog that leads to a channel, conversation, user or guild by its name. */

import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { OptionList } from "../ui/option_list.js";
import { t, tn, tNodes } from "../ui/translation.js";
import { isMarkedUnread, listDestinations, rankDestinations } from "./destinations.js";

const RESULTS_MAX = 12;

export function openQuickSwitcher(context) {
  const { state } = context;
  const destinations = listDestinations(context);
  openDialog(t("Go to"), close => {
    const field = h("input", {
      type: "text",
      "aria-label": t("Channel, conversation, user or guild"),
      placeholder: t("Channel, conversation, user or guild"),
      autofocus: true,
      dir: "auto",
      oninput: () => drawOptions(),
      onkeydown: event => options.handleKey(event),
    });
    const options = new OptionList(field, t("Destinations"));
    const status = h("p", { class: "muted small", role: "status" });
    const drawOptions = () => {
      const matches = rankDestinations(context, destinations, field.value).slice(0, RESULTS_MAX);
      options.setOptions(
        matches.map(destination => ({
          label: destination.label,
          hint: destination.hint,
          icon: destination.icon(),
          trailing: unreadBadge(state, destination.channel),
          choose: () => {
            close();
            destination.open();
          },
        })),
        0,
      );
      status.textContent = matches.length
        ? ""
        : field.value.trim()
          ? t("Nothing has this name. Check the spelling, or use the search for messages.")
          : t("Nothing is unread. Type a name.");
      status.hidden = !status.textContent;
    };
    setTimeout(drawOptions);
    return h(
      "div",
      { class: "switcher" },
      field,
      options.node,
      status,
      h(
        "p",
        { class: "muted small switcher-hint" },
        tNodes("{at} people, {hash} text channels, {exclamation} voice channels, {star} guilds", {
          at: h("kbd", null, "@"),
          hash: h("kbd", null, "#"),
          exclamation: h("kbd", null, "!"),
          star: h("kbd", null, "*"),
        }),
      ),
    );
  });
}

function unreadBadge(state, channel) {
  if (channel === undefined) return null;
  const mentionCount = state.mentionCountIn(channel.id);
  if (mentionCount)
    return h(
      "span",
      { class: "count" },
      mentionCount,
      h("span", { class: "visually-hidden" }, ` ${tn("mention", "mentions", mentionCount)}`),
    );
  return isMarkedUnread(state, channel) ? h("span", { class: "tag" }, t("Unread")) : null;
}
