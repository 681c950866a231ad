/** The dialog that forwards a message to other channels and conversations. */

import { CONTENT_MAX } from "../generated/limits.js";
import { MessageReferenceType, Permissions, isMessageable, isPrivate, isThread } from "../network/enums.js";
import { createMessageNonce } from "../network/ids.js";
import { messageErrorText } from "../state/outbox.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { LOCALE, t } from "../ui/translation.js";
import { channelIconName, channelTitle, conversationIcon } from "../content/avatars.js";
import { summarizeMessage } from "../content/message_text.js";

/** Largest number of targets; the server limits the rate of forwards. */
const TARGETS_MAX = 5;
/** Largest number of targets that the list shows; a search finds the others. */
const VISIBLE_TARGETS_MAX = 50;

/**
 * Return all conversations, and the channels and joined active threads that the user can send messages in.
 *
 * With a guild in view, its channels come first, then those of other guilds, then conversations. Otherwise conversations
 * come first.
 */
function listTargets({ state, guildId }) {
  const conversations = state.privateChannels();
  const rank = channel => (channel.guild_id === guildId ? 0 : 1);
  const channels = [...state.channels.values()]
    .filter(
      channel =>
        !isPrivate(channel) &&
        isMessageable(channel) &&
        (!isThread(channel) || (channel.member && !channel.thread_metadata?.archived)) &&
        state.can(channel.id, Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES),
    )
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, LOCALE));
  return guildId === null ? [...conversations, ...channels] : [...channels, ...conversations];
}

/** Open the dialog that forwards a message. Targets that fail stay chosen, so that the user can try again. */
export function openForwardDialog(context, message) {
  const { state } = context;
  const targets = listTargets(context);
  const chosenIds = new Set();
  openDialog(t("Forward message"), close => {
    const list = h("div", { class: "choices forward-targets", role: "group", "aria-label": t("Forward to") });
    const search = formField(
      t("Forward to"),
      h("input", {
        type: "search",
        autocomplete: "off",
        autofocus: true,
        placeholder: t("Search channels and conversations"),
        oninput: () => drawTargets(),
      }),
      t("Choose up to {max}.", { max: TARGETS_MAX }),
    );
    const comment = formField(
      t("Comment (optional)"),
      h("textarea", { rows: "2", maxlength: CONTENT_MAX, dir: "auto" }),
    );
    const submitButton = h("button", { type: "submit", class: "button", disabled: true }, t("Forward"));

    const drawTargets = () => {
      const query = search.input.value.trim().toLowerCase();
      const matchingChannels = targets.filter(
        channel => chosenIds.has(channel.id) || label(channel).toLowerCase().includes(query),
      );
      setChildren(
        list,
        matchingChannels.slice(0, VISIBLE_TARGETS_MAX).map(targetChoice),
        matchingChannels.length
          ? null
          : h("p", { class: "muted", role: "status" }, t("No channel or conversation matches.")),
        matchingChannels.length > VISIBLE_TARGETS_MAX
          ? h("p", { class: "muted small" }, t("Search to find more channels and conversations."))
          : null,
      );
      updateDisabledControls();
    };

    const label = channel => {
      const guild = state.guilds.get(channel.guild_id);
      return `${channel.guild_id ? "#" : ""}${channelTitle(channel, state)}${guild ? ` ${guild.name}` : ""}`;
    };

    const targetChoice = channel => {
      const title = channelTitle(channel, state);
      const box = h("input", {
        type: "checkbox",
        onchange: () => {
          if (box.checked) chosenIds.add(channel.id);
          else chosenIds.delete(channel.id);
          updateDisabledControls();
        },
      });
      box.checked = chosenIds.has(channel.id);
      return h(
        "label",
        { class: "choice" },
        box,
        channel.guild_id ? icon(channelIconName(channel)) : conversationIcon(channel, title),
        h("span", { class: "choice-name", dir: "auto" }, title),
        channel.guild_id
          ? h(
              "span",
              { class: "muted small choice-place", dir: "auto" },
              state.guilds.get(channel.guild_id)?.name ?? "",
            )
          : null,
      );
    };

    const updateDisabledControls = () => {
      submitButton.disabled = chosenIds.size === 0;
      const isFull = chosenIds.size >= TARGETS_MAX;
      /** @type {HTMLInputElement} */ for (const box of list.querySelectorAll("input"))
        box.disabled = isFull && !(/** @type {HTMLInputElement} */ (box).checked);
    };

    const forward = async event => {
      event.preventDefault();
      submitButton.disabled = true;
      const failureTexts = [];
      for (const channelId of [...chosenIds]) {
        try {
          await forwardTo(context, channelId, message, comment.input.value.trim());
          chosenIds.delete(channelId);
        } catch (error) {
          failureTexts.push(`${channelTitle(state.channels.get(channelId), state)}: ${messageErrorText(error)}`);
        }
      }
      if (failureTexts.length) {
        drawTargets();
        search.setError(failureTexts.join(" "));
        return;
      }
      close();
      showNotice(t("Message forwarded."), "done");
    };

    drawTargets();
    return h(
      "form",
      { class: "stack", onsubmit: forward },
      h("blockquote", { class: "muted", dir: "auto" }, summarizeMessage(message, context)),
      search.node,
      list,
      comment.node,
      h("div", { class: "row end" }, submitButton),
    );
  });
}

/** Forward a message to a channel, and send the comment after it. */
async function forwardTo({ api }, channelId, message, comment) {
  const path = `/channels/${channelId}/messages`;
  const reference = {
    type: MessageReferenceType.FORWARD,
    channel_id: message.channel_id,
    message_id: message.id,
  };
  const sendMessage = json =>
    api.request("POST", path, { json: { ...json, nonce: createMessageNonce(), enforce_nonce: true } });
  await sendMessage({ message_reference: reference });
  if (comment) await sendMessage({ content: comment });
}
