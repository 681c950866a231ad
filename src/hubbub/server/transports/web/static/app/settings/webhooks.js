/** Guild settings: webhooks, in a list and with a page for each. */

import { WebhookType } from "../generated/enums.js";
import { WEBHOOKS_PER_CHANNEL_MAX, WEBHOOK_NAME_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { userAvatar } from "../content/avatars.js";
import { channelLabel, channelOptions } from "./channel_choices.js";
import { choiceSetting, textSetting } from "./fields.js";
import { SettingsForm, openActionDialog } from "./form.js";
import { actionButton, listEntry, lockedNotice, settingsSection, viewOnlyNotice } from "./layout.js";
import { liveList } from "./live_list.js";
import { imageSetting } from "./upload_field.js";

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const WEBHOOKS_SCREEN = { id: "webhooks", label: "Webhooks", icon: "link", build };

/** Permissions that the user needs in a channel to manage its webhooks. */
const MANAGE_BITS = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS;

function build(view, focusedId = null) {
  const { context, guildId } = view;
  const content = h("div");
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => add() },
    icon("plus"),
    "Create webhook",
  );
  let list = null;
  const edit = webhook => view.requestPage(() => openWebhook(view, webhook, id => showList(view, id)));
  const add = async () => {
    const created = await openCreation(view);
    if (created !== null) edit(created);
  };
  const draw = () => {
    const denialReason = view.access.findDenialReason(Permissions.MANAGE_WEBHOOKS);
    if (denialReason !== null) {
      list = null;
      content.replaceChildren(lockedNotice(`You cannot see the webhooks. ${denialReason}`));
      return;
    }
    if (list !== null) {
      list.draw();
      return;
    }
    list = liveList({
      label: "Webhooks",
      emptyText: "There are no webhooks yet. Create one to get its URL.",
      fetch: () => context.api.request("GET", `/guilds/${guildId}/webhooks`),
      entry: webhook => webhookEntry(view, webhook, edit),
    });
    if (focusedId !== null) list.loaded.then(() => list.focus(focusedId) || createButton.focus());
    content.replaceChildren(
      h("p", { class: "hint settings-intro" }, "Other services send messages to a channel with the URL of a webhook."),
      h("div", { class: "settings-tools" }, createButton),
      ...list.nodes,
    );
  };
  view.onChange(({ kind }) => {
    draw();
    if (kind === "webhooks") list?.loadSoon();
  });
  draw();
  return content;
}

function showList(view, focusedId) {
  view.setContent(WEBHOOKS_SCREEN.label, build(view, focusedId));
}

const channelName = (state, id) =>
  state.channels.has(id) ? channelLabel(state.channels.get(id)) : "a deleted channel";

/** Return the text about the origin of a webhook: the followed channel or the creator; null if unknown. */
function originText({ state }, webhook) {
  if (webhook.type === WebhookType.CHANNEL_FOLLOWER) {
    const { source_channel: channel, source_guild: guild } = webhook;
    return channel ? `Follows #${channel.name}${guild ? ` of ${guild.name}` : ""}` : "Follows a deleted channel";
  }
  const creator = webhook.user ? state.displayName(webhook.user, webhook.guild_id) : null;
  return creator === null ? null : `Created by ${creator}`;
}

function webhookEntry({ context }, webhook, edit) {
  const details = [`Posts in ${channelName(context.state, webhook.channel_id)}`, originText(context, webhook)];
  return {
    key: webhook.id,
    version: JSON.stringify([webhook, details]),
    build: () => {
      const editButton = actionButton("Edit", () => edit(webhook), { name: `Edit ${webhook.name}` });
      editButton.dataset.focus = "edit";
      return listEntry({
        mark: userAvatar(webhook, webhook.name),
        title: [webhook.name, webhook.application_id ? h("span", { class: "tag" }, "App") : null],
        details,
        actions: [webhook.url ? copyButton(webhook) : null, editButton].filter(Boolean),
      });
    },
  };
}

function copyButton(webhook) {
  const copy = () =>
    runAndReport(async () => {
      await navigator.clipboard.writeText(webhook.url);
      showNotice("URL copied.", "done");
    });
  return actionButton("Copy URL", copy, { name: `Copy URL of ${webhook.name}` });
}

const fieldsOf = (view, webhook) => ({
  name: textSetting("Name", { maxlength: WEBHOOK_NAME_MAX, required: true }),
  channel_id: choiceSetting("Channel", channelOptions(view, MANAGE_BITS), {
    hint: `A channel has at most ${WEBHOOKS_PER_CHANNEL_MAX} webhooks.`,
  }),
  avatar: imageSetting("Avatar", {
    hint: "Shown beside the messages, unless the service sends its own.",
    preview: value => userAvatar({ ...webhook, avatar: value }, webhook.name || "?"),
  }),
});

/** Open the dialog that creates a webhook. Resolve to the webhook, or null. */
async function openCreation(view) {
  let created = null;
  const fields = fieldsOf(view, { id: "0", name: "" });
  await openActionDialog({
    title: "Create webhook",
    label: "Create",
    danger: false,
    fields,
    run: async ({ channel_id: channelId, ...json }) => {
      created = await view.context.api.request("POST", `/channels/${channelId}/webhooks`, { json });
    },
  });
  return created;
}

const valuesOf = webhook => ({ name: webhook.name, channel_id: webhook.channel_id, avatar: webhook.avatar });

/** Show the page of a webhook; `goBack` shows the list again. */
function openWebhook(view, webhook, goBack) {
  const { context, guildId } = view;
  let current = webhook;
  const fields = fieldsOf(view, webhook);
  const notice = h("div", { class: "settings-access" }),
    deleteButton = actionButton("Delete webhook", () => remove(), { danger: true });
  const findDenialReason = () => view.access.channelDenialReason(Permissions.MANAGE_WEBHOOKS, current.channel_id);
  const form = new SettingsForm(fields, valuesOf(webhook), {
    save: async changes => {
      current = await context.api.request("PATCH", `/webhooks/${webhook.id}`, { json: changes });
      view.setTitle(current.name);
      return valuesOf(current);
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const draw = () => {
    const denialReason = findDenialReason();
    notice.replaceChildren(...(denialReason === null ? [] : [viewOnlyNotice(denialReason)]));
    for (const field of Object.values(fields)) field.setDisabled(denialReason !== null);
    deleteButton.disabled = denialReason !== null;
  };
  const remove = async () => {
    const isDone = await openActionDialog({
      title: `Delete ${current.name}?`,
      text: "Its URL stops working. Messages that it sent stay. This cannot be undone.",
      label: "Delete webhook",
      run: () => context.api.request("DELETE", `/webhooks/${webhook.id}`),
    });
    if (!isDone) return;
    goBack(webhook.id);
    showNotice(`${current.name} was deleted.`, "done");
  };
  const reload = () =>
    runAndReport(async () => {
      const webhooks = await context.api.request("GET", `/guilds/${guildId}/webhooks`);
      const found = webhooks.find(({ id }) => id === webhook.id);
      if (!notice.isConnected) return;
      if (found === undefined) {
        goBack(webhook.id);
        showNotice(`${current.name} was deleted by someone else.`);
        return;
      }
      current = found;
      view.setTitle(current.name);
      form.load(valuesOf(current));
      draw();
    });
  view.onChange(({ kind }) => {
    if (!view.access.has(Permissions.MANAGE_WEBHOOKS)) goBack(webhook.id);
    else if (kind === "webhooks") reload();
    else draw();
  });
  draw();
  view.openPage(webhook.name, "All webhooks", () => goBack(webhook.id), [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection(
        "Webhook",
        Object.values(fields).map(field => field.node),
      ),
      urlSection(webhook),
      settingsSection("Delete", h("div", { class: "row" }, deleteButton)),
    ),
  ]);
}

function urlSection(webhook) {
  const text =
    webhook.type === WebhookType.CHANNEL_FOLLOWER
      ? "It has no URL: it copies announcements of the channel that it follows."
      : "Only the app that created it knows its URL.";
  if (!webhook.url) return settingsSection("URL", h("p", { class: "hint" }, text));
  return settingsSection(
    "URL",
    h("p", { class: "hint" }, "Anyone with this URL can post in the channel. Keep it secret."),
    h("div", { class: "row" }, copyButton(webhook)),
  );
}
