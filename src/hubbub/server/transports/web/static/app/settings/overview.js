/** Guild settings: name, images, description, system channel, verification, notifications and language. */

import { GUILD_DESCRIPTION_MAX, GUILD_NAME_MAX } from "../generated/limits.js";
import { ChannelType, DefaultMessageNotifications, Permissions, VerificationLevel } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { guildIcon } from "../content/avatars.js";
import { guildBannerPath } from "../content/cdn_paths.js";
import { choiceSetting, textSetting } from "./forms/fields.js";
import { SettingsForm } from "./forms/form.js";
import { localeOptions } from "./forms/locales.js";
import { missingFeatureReason, settingsSection, viewOnlyNotice } from "./forms/layout.js";
import { imageSetting } from "./forms/upload_field.js";

const VERIFICATION_OPTIONS = [
  [VerificationLevel.NONE, t("None")],
  [VerificationLevel.LOW, t("Low: a verified email address")],
  [VerificationLevel.MEDIUM, t("Medium: also registered for 5 minutes")],
  [VerificationLevel.HIGH, t("High: also a member for 10 minutes")],
  [VerificationLevel.VERY_HIGH, t("Highest: a verified phone number")],
];

const NOTIFICATION_OPTIONS = [
  [DefaultMessageNotifications.ALL_MESSAGES, t("All messages")],
  [DefaultMessageNotifications.ONLY_MENTIONS, t("Only mentions")],
];

/** @type {import("./forms/settings_dialog.js").SettingsScreen} */
export const OVERVIEW_SCREEN = { id: "overview", label: t("Overview"), icon: "settings", build };

function build(view) {
  const { context, guildId, guild, access } = view;
  const fields = {
    icon: imageSetting(t("Icon"), {
      hint: t("A square image of at least 128 × 128 pixels."),
      preview: value => guildIcon({ ...view.guild, icon: value }),
    }),
    banner: imageSetting(t("Banner"), {
      imageClass: "banner",
      preview: value =>
        value
          ? h("img", { src: guildBannerPath({ ...view.guild, banner: value }), alt: "", class: "banner" })
          : h("span", { class: "muted small" }, t("No banner")),
    }),
    name: textSetting(t("Name"), { maxlength: GUILD_NAME_MAX }),
    description: textSetting(t("Description"), {
      hint: t("Shown to people who look at an invite."),
      multiline: true,
      isNullable: true,
      maxlength: GUILD_DESCRIPTION_MAX,
    }),
    system_channel_id: choiceSetting(t("System channel"), systemChannelOptions(context.state, guildId), {
      hint: t("Shows who joined."),
    }),
    verification_level: choiceSetting(t("Verification level"), VERIFICATION_OPTIONS, {
      hint: t("What members need before they can write. Members with a role are exempt."),
    }),
    default_message_notifications: choiceSetting(t("Default notifications"), NOTIFICATION_OPTIONS, {
      hint: t("For members who have not chosen their own setting."),
    }),
    preferred_locale: choiceSetting(t("Primary language"), localeOptions(), {
      hint: t("Used by apps and in system messages."),
    }),
  };
  const form = new SettingsForm(fields, guild, {
    save: changes => context.api.request("PATCH", `/guilds/${guildId}`, { json: changes }),
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  view.onChange(() => form.showStored(view.guild));
  const denialReason = access.findDenialReason(Permissions.MANAGE_GUILD);
  const hasBanners = (guild.features ?? []).includes("BANNER");
  if (denialReason !== null) form.disable();
  else if (!hasBanners) form.disable(["banner"]);
  const nodes = names => names.map(name => fields[name].node);
  return h(
    "div",
    { class: "settings-form" },
    denialReason === null ? null : viewOnlyNotice(denialReason),
    settingsSection(t("Profile"), nodes(["name", "description", "icon", "banner"]), [
      hasBanners
        ? null
        : h("p", { class: "hint" }, missingFeatureReason(t("Banners are not available in this guild."), "BANNER")),
    ]),
    settingsSection(t("Members"), nodes(["system_channel_id", "verification_level", "default_message_notifications"])),
    settingsSection(t("Language"), nodes(["preferred_locale"])),
  );
}

/** Return the text channels that the user can see, as pairs of ID and name, after the option for none. */
function systemChannelOptions(state, guildId) {
  const channels = state
    .channelsOf(guildId)
    .filter(channel => channel.type === ChannelType.GUILD_TEXT && state.can(channel.id, Permissions.VIEW_CHANNEL))
    .sort((a, b) => a.position - b.position);
  return [[null, t("No system messages")], ...channels.map(channel => [channel.id, `#${channel.name}`])];
}
