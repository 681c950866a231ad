/** Guild settings: the widget, a public summary of the guild for other websites. */

import { WidgetStyle } from "../generated/enums.js";
import { Permissions } from "../network/enums.js";
import { copyText } from "../ui/clipboard.js";
import { h, setChildren } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { t, tNodes, tn } from "../ui/translation.js";
import { channelOptions } from "./channels/choices.js";
import { choiceSetting, switchSetting } from "./forms/fields.js";
import { actionButton, settingsSection } from "./forms/layout.js";
import { loadAndShowForm } from "./forms/content_loader.js";

const STYLE_OPTIONS = [
  [WidgetStyle.BANNER2, t("Banner")],
  [WidgetStyle.BANNER1, t("Large banner")],
  [WidgetStyle.BANNER3, t("Small banner")],
  [WidgetStyle.BANNER4, t("Tall banner")],
  [WidgetStyle.SHIELD, t("Badge")],
];

/** @type {import("./forms/settings_dialog.js").SettingsScreen} */
export const WIDGET_SCREEN = { id: "widget", label: t("Widget"), icon: "screen", build };

function build(view) {
  const { context, guildId } = view;
  const path = `/guilds/${guildId}/widget`;
  const findDenialReason = () => view.access.findDenialReason(Permissions.MANAGE_GUILD);
  const preview = h("div", { class: "settings-form" });
  return loadAndShowForm(view, WIDGET_SCREEN, {
    viewDenialReason: () =>
      findDenialReason() === null ? null : t("You cannot see the widget. {reason}", { reason: findDenialReason() }),
    changeDenialReason: findDenialReason,
    load: () => context.api.request("GET", path),
    save: changes => context.api.request("PATCH", path, { json: changes }),
    createFields: () => ({
      enabled: switchSetting(t("Turn on the widget"), {
        hint: t("Everyone can see the name of the guild, online members and public voice channels."),
      }),
      channel_id: choiceSetting(
        t("Invite channel"),
        [[null, t("No invite")], ...channelOptions(view, Permissions.VIEW_CHANNEL)],
        {
          hint: t("The widget invites everyone to this channel."),
          unknown: id => `#${context.state.channels.get(id)?.name ?? t("unknown")}`,
        },
      ),
    }),
    layout: fields => [settingsSection(t("Visibility"), fields.enabled.node, fields.channel_id.node), preview],
    onValues: values => {
      const version = JSON.stringify(values);
      if (preview.dataset.version === version) return;
      preview.dataset.version = version;
      if (values.enabled) runAndReport(() => drawPreview(view, preview));
      else
        setChildren(
          preview,
          settingsSection(t("Preview"), h("p", { class: "muted" }, t("Turn on the widget to see it."))),
        );
    },
  });
}

/** Return HTML that shows the image of the widget, as a link if there is an invite. */
function embedCode(guild, imageUrl, invite) {
  const escape = text => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  const image = `<img src="${escape(imageUrl)}" alt="${escape(guild.name)}">`;
  return invite === null ? image : `<a href="${escape(invite)}">${image}</a>`;
}

/** Load the widget, and draw its image with a choice of style and the code for websites. */
async function drawPreview({ context, guildId, guild }, node) {
  const widget = await context.api.request("GET", `/guilds/${guildId}/widget.json`);
  const imagePath = `/api/v10/guilds/${guildId}/widget.png`;
  const image = h("img", { class: "widget-image", alt: t("Widget of {name}", { name: guild.name }) });
  const code = h("textarea", { rows: "3", readonly: true, class: "code-input", "aria-label": t("HTML code") });
  const style = choiceSetting(t("Style"), STYLE_OPTIONS);
  const showStyle = () => {
    image.src = `${imagePath}?style=${style.read()}`;
    code.value = embedCode(guild, `${context.webUrl}${imagePath}?style=${style.read()}`, widget.instant_invite);
  };
  const copy = text => copyText(text, t("Copied."));
  const jsonUrl = `${context.webUrl}/api/v10/guilds/${guildId}/widget.json`;
  style.node.addEventListener("change", event => {
    // The style is not part of the form.
    event.stopPropagation();
    showStyle();
  });
  showStyle();
  setChildren(
    node,
    settingsSection(
      t("Preview"),
      image,
      h("p", { class: "muted small" }, onlineText(widget.presence_count)),
      style.node,
    ),
    settingsSection(
      t("Code for your website"),
      h("p", { class: "hint" }, t("Paste this HTML into your page.")),
      code,
      h(
        "div",
        { class: "row" },
        actionButton(t("Copy code"), () => copy(code.value)),
      ),
      h(
        "p",
        { class: "hint" },
        ...tNodes("Programs read the widget as JSON from this address: {url}", { url: h("code", null, jsonUrl) }),
      ),
      h(
        "div",
        { class: "row" },
        actionButton(t("Copy address"), () => copy(jsonUrl)),
      ),
    ),
  );
}

const onlineText = count => tn("{count} member is online.", "{count} members are online.", count);
