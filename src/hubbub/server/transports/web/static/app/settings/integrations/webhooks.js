/** Guild settings: webhooks, in a list and with a page for each. */

import { WebhookType } from "../../generated/enums.js";
import { WEBHOOKS_PER_CHANNEL_MAX, WEBHOOK_NAME_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { copyText } from "../../ui/clipboard.js";
import { h, icon } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { channelLabel, channelOptions } from "../channels/choices.js";
import { choiceSetting, textSetting } from "../forms/fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, lockedNotice, settingsSection, viewOnlyNotice } from "../forms/layout.js";
import { liveList } from "../forms/live_list.js";
import { imageSetting } from "../forms/upload_field.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const WEBHOOKS_SCREEN = { id: "webhooks", label: t("Webhooks"), icon: "link", build };

/** Permissions that the user needs in a channel to manage its webhooks. */
const MANAGE_BITS = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS;

function build(view, focusedId = null) {
  const { context, guildId } = view;
  const content = h("div");
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => createWebhook() },
    icon("plus"),
    t("Create webhook"),
  );
  let list = null;
  const edit = webhook => view.requestPage(() => openWebhook(view, webhook, id => showList(view, id)));
  const createWebhook = async () => {
    const webhook = await openCreation(view);
    if (webhook !== null) edit(webhook);
  };
  const drawWebhooks = () => {
    const denialReason = view.access.findDenialReason(Permissions.MANAGE_WEBHOOKS);
    if (denialReason !== null) {
      list = null;
      content.replaceChildren(lockedNotice(t("You cannot see the webhooks. {reason}", { reason: denialReason })));
      return;
    }
    if (list !== null) {
      list.draw();
      return;
    }
    list = liveList({
      label: t("Webhooks"),
      emptyText: t("There are no webhooks yet. Create one to get its URL."),
      fetchItems: () => context.api.request("GET", `/guilds/${guildId}/webhooks`),
      describeItem: webhook => webhookEntry(view, webhook, edit),
    });
    if (focusedId !== null) list.loaded.then(() => list.focus(focusedId) || createButton.focus());
    content.replaceChildren(
      h(
        "p",
        { class: "hint settings-intro" },
        t("Other services send messages to a channel with the URL of a webhook."),
      ),
      h("div", { class: "settings-tools" }, createButton),
      ...list.nodes,
    );
  };
  view.onChange(({ kind }) => {
    drawWebhooks();
    if (kind === "webhooks") list?.refreshSoon();
  });
  drawWebhooks();
  return content;
}

function showList(view, focusedId) {
  view.setContent(WEBHOOKS_SCREEN.label, build(view, focusedId));
}

const channelName = (state, id) =>
  state.channels.has(id) ? channelLabel(state.channels.get(id)) : t("a deleted channel");

/** Return the text about the origin of a webhook: the followed channel or the creator; null if unknown. */
function originText({ state }, webhook) {
  if (webhook.type === WebhookType.CHANNEL_FOLLOWER) {
    const { source_channel: channel, source_guild: guild } = webhook;
    if (!channel) return t("Follows a deleted channel");
    return guild
      ? t("Follows #{channel} of {guild}", { channel: channel.name, guild: guild.name })
      : t("Follows #{channel}", { channel: channel.name });
  }
  const creator = webhook.user ? state.displayName(webhook.user, webhook.guild_id) : null;
  return creator === null ? null : t("Created by {name}", { name: creator });
}

function webhookEntry({ context }, webhook, edit) {
  const details = [
    t("Posts in {name}", { name: channelName(context.state, webhook.channel_id) }),
    originText(context, webhook),
  ];
  return {
    key: webhook.id,
    version: JSON.stringify([webhook, details]),
    build: () => {
      const editButton = actionButton(t("Edit"), () => edit(webhook), {
        name: t("Edit {name}", { name: webhook.name }),
      });
      editButton.dataset.focus = "edit";
      return listEntry({
        image: userAvatar(webhook, webhook.name),
        title: [webhook.name, webhook.application_id ? h("span", { class: "tag" }, t("App")) : null],
        details,
        actions: [webhook.url ? copyButton(webhook) : null, editButton].filter(Boolean),
      });
    },
  };
}

function copyButton(webhook) {
  const copy = () => copyText(webhook.url, t("URL copied."));
  return actionButton(t("Copy URL"), copy, { name: t("Copy URL of {name}", { name: webhook.name }) });
}

const fieldsOf = (view, webhook) => ({
  name: textSetting(t("Name"), { maxlength: WEBHOOK_NAME_MAX, required: true }),
  channel_id: choiceSetting(t("Channel"), channelOptions(view, MANAGE_BITS), {
    hint: t("A channel has at most {max} webhooks.", { max: WEBHOOKS_PER_CHANNEL_MAX }),
  }),
  avatar: imageSetting(t("Avatar"), {
    hint: t("Shown beside the messages, unless the service sends its own."),
    preview: value => userAvatar({ ...webhook, avatar: value }, webhook.name || "?"),
  }),
});

/** Open the dialog that creates a webhook. Resolve to the webhook, or null. */
async function openCreation(view) {
  let webhook = null;
  const fields = fieldsOf(view, { id: "0", name: "" });
  await openActionDialog({
    title: t("Create webhook"),
    label: t("Create"),
    isDangerous: false,
    fields,
    run: async ({ channel_id: channelId, ...json }) => {
      webhook = await view.context.api.request("POST", `/channels/${channelId}/webhooks`, { json });
    },
  });
  return webhook;
}

const valuesOf = webhook => ({ name: webhook.name, channel_id: webhook.channel_id, avatar: webhook.avatar });

/** Show the page of a webhook; `goBack` shows the list again. */
function openWebhook(view, webhook, goBack) {
  const { context, guildId } = view;
  let currentWebhook = webhook;
  const fields = fieldsOf(view, webhook);
  const notice = h("div", { class: "settings-access" }),
    deleteButton = actionButton(t("Delete webhook"), () => remove(), { isDangerous: true });
  const findDenialReason = () =>
    view.access.findChannelDenialReason(Permissions.MANAGE_WEBHOOKS, currentWebhook.channel_id);
  const form = new SettingsForm(fields, valuesOf(webhook), {
    save: async changes => {
      currentWebhook = await context.api.request("PATCH", `/webhooks/${webhook.id}`, { json: changes });
      view.setTitle(currentWebhook.name);
      return valuesOf(currentWebhook);
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const updateDenial = () => {
    const denialReason = findDenialReason();
    notice.replaceChildren(...(denialReason === null ? [] : [viewOnlyNotice(denialReason)]));
    for (const field of Object.values(fields)) field.setDisabled(denialReason !== null);
    deleteButton.disabled = denialReason !== null;
  };
  const remove = async () => {
    const isDone = await openActionDialog({
      title: t("Delete {name}?", { name: currentWebhook.name }),
      text: t("Its URL stops working. Messages that it sent stay. This cannot be undone."),
      label: t("Delete webhook"),
      run: () => context.api.request("DELETE", `/webhooks/${webhook.id}`),
    });
    if (!isDone) return;
    goBack(webhook.id);
    showNotice(t("{name} was deleted.", { name: currentWebhook.name }), "done");
  };
  const reload = () =>
    runAndReport(async () => {
      const webhooks = await context.api.request("GET", `/guilds/${guildId}/webhooks`);
      const loadedWebhook = webhooks.find(({ id }) => id === webhook.id);
      if (!notice.isConnected) return;
      if (loadedWebhook === undefined) {
        goBack(webhook.id);
        showNotice(t("{name} was deleted by someone else.", { name: currentWebhook.name }));
        return;
      }
      currentWebhook = loadedWebhook;
      view.setTitle(currentWebhook.name);
      form.showStored(valuesOf(currentWebhook));
      updateDenial();
    });
  view.onChange(({ kind }) => {
    if (!view.access.hasPermissions(Permissions.MANAGE_WEBHOOKS)) goBack(webhook.id);
    else if (kind === "webhooks") reload();
    else updateDenial();
  });
  updateDenial();
  view.openPage(webhook.name, t("All webhooks"), () => goBack(webhook.id), [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection(
        t("Webhook"),
        Object.values(fields).map(field => field.node),
      ),
      urlSection(webhook),
      settingsSection(t("Delete"), h("div", { class: "row" }, deleteButton)),
    ),
  ]);
}

function urlSection(webhook) {
  const text =
    webhook.type === WebhookType.CHANNEL_FOLLOWER
      ? t("It has no URL: it copies announcements of the channel that it follows.")
      : t("Only the app that created it knows its URL.");
  if (!webhook.url) return settingsSection("URL", h("p", { class: "hint" }, text));
  return settingsSection(
    "URL",
    h("p", { class: "hint" }, t("Anyone with this URL can post in the channel. Keep it secret.")),
    h("div", { class: "row" }, copyButton(webhook)),
  );
}
