/** The soundboard of a voice channel: the popup that sends sounds to the call, and the playback of received sounds. */

import { Permissions, isVoice } from "../network/enums.js";
import { iconButton } from "../ui/controls.js";
import { h } from "../ui/dom.js";
import { announce } from "../ui/live_region.js";
import { runAndReport } from "../ui/notices.js";
import { openPopup } from "../ui/popups.js";
import { t } from "../ui/translation.js";
import { soundPath } from "../content/cdn_paths.js";
import { emojiElement } from "../content/emoji/element.js";
import { getCalls } from "../voice/calls.js";

/** Play the sounds that participants send to the current call. Call once, before the gateway connects. */
export function startSoundboard(context) {
  const { gateway, state } = context;
  gateway.addEventListener("VOICE_CHANNEL_EFFECT_SEND", ({ detail }) => {
    const {
      channel_id: channelId,
      guild_id: guildId,
      user_id: userId,
      sound_id: soundId,
      sound_volume: volume,
    } = detail;
    const calls = getCalls(context);
    if (soundId === undefined || channelId !== calls.channelId || calls.devices.settings.deaf) return;
    calls.call?.playback.playSound(String(soundId), soundPath(soundId), volume ?? 1);
    const name = state.displayName(state.user(userId) ?? { id: userId }, guildId);
    announce(t("{name} played a sound.", { name }));
  });
}

/** Return the button that opens the soundboard, or null if the user cannot use it in this channel. */
export function soundboardButton(context, channel) {
  if (!channel.guild_id || !isVoice(channel) || !context.state.can(channel.id, Permissions.USE_SOUNDBOARD)) return null;
  return iconButton("sound", t("Soundboard"), event => openSoundboard(event.currentTarget, context, channel), {
    "aria-haspopup": "dialog",
    dataset: { focus: "soundboard" },
  });
}

async function openSoundboard(anchor, context, channel) {
  const { api, state } = context;
  await runAndReport(async () => {
    const [guildSounds, defaultSounds] = await Promise.all([
      api.request("GET", `/guilds/${channel.guild_id}/soundboard-sounds`),
      api.request("GET", "/soundboard-default-sounds"),
    ]);
    const sendHandler = sound => () =>
      runAndReport(() =>
        api.request("POST", `/channels/${channel.id}/send-soundboard-sound`, { json: { sound_id: sound.sound_id } }),
      );
    const sections = [
      soundSection(state.guilds.get(channel.guild_id)?.name ?? t("Guild"), guildSounds.items, sendHandler),
      soundSection(t("Default sounds"), defaultSounds, sendHandler),
    ].filter(Boolean);
    const node = h("div", { class: "soundboard", role: "dialog", "aria-label": t("Soundboard") }, sections);
    openPopup(anchor, node, { focus: node.querySelector("button") });
  });
}

function soundSection(title, sounds, sendHandler) {
  if (!sounds.length) return null;
  return h(
    "section",
    { "aria-label": title },
    h("h3", { dir: "auto" }, title),
    h(
      "div",
      { class: "sounds" },
      sounds.map(sound =>
        h(
          "button",
          { type: "button", class: "sound", disabled: !sound.available, onclick: sendHandler(sound) },
          sound.emoji_id || sound.emoji_name ? emojiElement({ id: sound.emoji_id, name: sound.emoji_name }) : null,
          h("span", { dir: "auto" }, sound.name),
        ),
      ),
    ),
  );
}
