/** The options of one participant of a call: volume, pinning, picture in picture, and the actions of moderators. */

import { ChannelType, Permissions, isVoice } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { closePopup, openMenu, openPopup } from "../ui/popups.js";
import { t } from "../ui/translation.js";
import { getCalls } from "../voice/calls.js";
import { changeLayout, getLayout } from "./layout.js";

/** Open the options of a participant beside an element of their tile. */
export function showParticipantOptions(anchor, context, user) {
  const { state, guildId, me } = context;
  const name = state.displayName(user, guildId);
  const video = anchor.closest(".tile")?.querySelector("video") ?? null;
  const isOther = user.id !== me.id;
  const slider = isOther ? volumeField(context, user.id, name) : null;
  const actions = [
    pinAction(context, user.id),
    video && pictureAction(video),
    ...(isOther ? moderatorActions(anchor, context, user) : []),
  ].filter(Boolean);
  const buttons = actions.map(({ label, iconName, isDangerous, onClick }) =>
    h(
      "button",
      {
        type: "button",
        class: isDangerous ? "danger" : null,
        onclick: () => {
          closePopup();
          onClick();
        },
      },
      icon(iconName),
      label,
    ),
  );
  const node = h(
    "div",
    { class: "menu participant-options", role: "dialog", "aria-label": t("Options for {name}", { name }) },
    slider,
    buttons,
  );
  openPopup(anchor, node, { focus: slider?.querySelector("input") ?? buttons[0] });
}

function volumeField(context, userId, name) {
  const { devices } = getCalls(context);
  const { volumes } = devices.settings;
  const percent = Math.round(100 * (volumes.get(userId) ?? 1));
  const percentOutput = h("output", null, `${percent} %`);
  const slider = h("input", {
    type: "range",
    min: "0",
    max: "100",
    value: percent,
    "aria-label": t("Volume of {name}", { name }),
    oninput: event => {
      const chosenPercent = Number(event.currentTarget.value);
      percentOutput.textContent = `${chosenPercent} %`;
      volumes.set(userId, chosenPercent / 100);
      devices.update({ volumes });
    },
  });
  return h("div", { class: "volume" }, h("span", { "aria-hidden": "true" }, t("Volume")), percentOutput, slider);
}

function pinAction(context, userId) {
  const isPinned = getLayout(context).pinnedId === userId;
  return isPinned
    ? { label: t("Unpin"), iconName: "pin", onClick: () => changeLayout(context, { pinnedId: null, mode: "auto" }) }
    : { label: t("Pin"), iconName: "pin", onClick: () => changeLayout(context, { pinnedId: userId, mode: "speaker" }) };
}

function pictureAction(video) {
  if (!document.pictureInPictureEnabled) return null;
  const isShown = document.pictureInPictureElement === video;
  return {
    label: isShown ? t("Leave picture in picture") : t("Picture in picture"),
    iconName: "picture",
    onClick: () => runAndReport(() => (isShown ? document.exitPictureInPicture() : video.requestPictureInPicture())),
  };
}

/**
 * Return the actions on a member of a guild's voice or stage channel; null for each action that is not allowed or not
 * possible.
 */
function moderatorActions(anchor, context, { id: userId }) {
  const { state, api, channelId } = context;
  const channel = state.channels.get(channelId);
  if (!channel?.guild_id) return [];
  const { guild_id: guildId } = channel;
  const can = permission => state.can(channel.id, permission);
  const voiceState = state.voiceStatesIn(channel.id).find(({ user_id: id }) => id === userId);
  if (voiceState === undefined) return [];
  const changeMember = changes => () =>
    runAndReport(() => api.request("PATCH", `/guilds/${guildId}/members/${userId}`, { json: changes }));
  const setSuppressed = suppress => () =>
    runAndReport(() =>
      api.request("PATCH", `/guilds/${guildId}/voice-states/${userId}`, { json: { channel_id: channel.id, suppress } }),
    );
  const isStage = channel.type === ChannelType.GUILD_STAGE_VOICE;
  const otherChannels = [...state.channels.values()].filter(
    other => other.guild_id === guildId && other.id !== channel.id && isVoice(other),
  );
  const moveMember = () =>
    openMenu(
      anchor,
      t("Move to"),
      otherChannels.map(({ id, name }) => ({ label: name, icon: "voice", onClick: changeMember({ channel_id: id }) })),
    );
  return [
    isStage && can(Permissions.MUTE_MEMBERS) && voiceState.suppress
      ? { label: t("Allow to speak"), iconName: "microphone", onClick: setSuppressed(false) }
      : null,
    isStage && can(Permissions.MUTE_MEMBERS) && !voiceState.suppress
      ? { label: t("Move to audience"), iconName: "people", onClick: setSuppressed(true) }
      : null,
    can(Permissions.MUTE_MEMBERS)
      ? {
          label: voiceState.mute ? t("Unmute for everyone") : t("Mute for everyone"),
          iconName: voiceState.mute ? "microphone" : "microphone_off",
          onClick: changeMember({ mute: !voiceState.mute }),
        }
      : null,
    can(Permissions.MOVE_MEMBERS) && otherChannels.length
      ? { label: t("Move to another channel"), iconName: "leave", onClick: moveMember }
      : null,
    can(Permissions.MOVE_MEMBERS)
      ? { label: t("Disconnect"), iconName: "hang_up", isDangerous: true, onClick: changeMember({ channel_id: null }) }
      : null,
  ];
}
