/** Guild settings: sounds of the soundboard. */

import {
  SOUNDS_MAX_BY_TIER,
  SOUNDS_MAX_WITH_MORE_SOUNDBOARD,
  SOUND_BYTES_MAX,
  SOUND_MS_MAX,
  SOUND_NAME_MAX,
} from "../../generated/limits.js";
import { formField, iconButton } from "../../ui/controls.js";
import { h } from "../../ui/dom.js";
import { formatByteLimit } from "../../ui/byte_sizes.js";
import { runAndReport } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { soundPath } from "../../content/cdn_paths.js";
import { emojiNode, emojiSetting } from "../forms/emoji_field.js";
import { expressionScreen, slotsMax } from "./expressions.js";
import { textSetting } from "../forms/fields.js";
import { openActionDialog, reportAtField } from "../forms/form.js";
import { readDataUrl, uploadSetting } from "../forms/upload_field.js";

const VOLUME_STEP = 0.05;

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const SOUNDBOARD_SCREEN = { id: "soundboard", label: t("Soundboard"), icon: "volume", build };

const maxOf = guild => slotsMax(guild, SOUNDS_MAX_BY_TIER, "MORE_SOUNDBOARD", SOUNDS_MAX_WITH_MORE_SOUNDBOARD);

function build(view) {
  return expressionScreen(view, {
    label: t("Sounds"),
    emptyText: t("There are no sounds yet. Add a short sound for voice channels."),
    addLabel: t("Add sound"),
    path: ({ guildId }) => `/guilds/${guildId}/soundboard-sounds`,
    listOf: ({ items }) => items,
    idOf: sound => sound.sound_id,
    nameOf: sound => sound.name,
    slotsText: (guild, sounds) => t("{count} of {max} sounds", { count: sounds.length, max: maxOf(guild) }),
    isFull: (guild, sounds) => sounds.length >= maxOf(guild),
    image: ({ guild }, sound) => h("span", { class: "sound-emoji", "aria-hidden": "true" }, emojiNode(guild, sound)),
    details: (_view, sound) => [t("Volume {percentage}", { percentage: percentage(sound.volume) })],
    extraActions: (_view, sound) => [
      iconButton("play", t("Play {name}", { name: sound.name }), () => playSound(sound)),
    ],
    create: createSound,
    edit: editSound,
    isChange: (_view, { kind }) => kind === "sounds",
  });
}

const percentage = volume => `${Math.round(volume * 100)}%`;

/** The sound that is playing; starting another one stops it. @type {HTMLAudioElement | null} */
let playingSound = null;

function playSound(sound) {
  playingSound?.pause();
  playingSound = new Audio(soundPath(sound.sound_id));
  playingSound.volume = sound.volume;
  return runAndReport(() => playingSound.play());
}

function volumeSetting() {
  const input = h("input", { type: "range", min: 0, max: 1, step: VOLUME_STEP });
  const field = formField(t("Volume"), input);
  const output = h("output", { class: "small" });
  const drawPercentage = () => {
    const text = percentage(Number(input.value));
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  input.addEventListener("input", drawPercentage);
  field.node.append(output);
  return {
    node: field.node,
    read: () => Number(input.value),
    write(value) {
      input.value = String(value);
      drawPercentage();
    },
    setError: field.setError,
    setDisabled(disabled) {
      input.disabled = disabled;
    },
  };
}

function commonFields(view, sound) {
  const fields = {
    name: textSetting(t("Name"), { maxlength: SOUND_NAME_MAX, required: true }),
    volume: volumeSetting(),
    emoji_name: emojiSetting(view, t("Emoji"), {
      hint: t("Shown on the button of the sound. You can use standard emoji and custom emoji of this guild."),
    }),
  };
  fields.name.write(sound.name);
  fields.volume.write(sound.volume);
  fields.emoji_name.write(sound.emoji_id || sound.emoji_name ? sound : null);
  return fields;
}

/** Return the request body of form values: the API takes the emoji as `emoji_id` and `emoji_name`. */
const bodyOf = ({ emoji_name: emoji, ...values }) => ({
  ...values,
  emoji_id: emoji?.emoji_id ?? null,
  emoji_name: emoji?.emoji_name ?? null,
});

async function createSound(view) {
  let createdSound = null;
  const fields = commonFields(view, { name: "", volume: 1 });
  const sound = uploadSetting(t("Sound"), {
    hint: t("MP3 or Ogg, at most {size} and {seconds} seconds.", {
      size: formatByteLimit(SOUND_BYTES_MAX),
      seconds: SOUND_MS_MAX / 1000,
    }),
    accept: "audio/mpeg,audio/ogg,.mp3,.ogg,.oga,.opus",
    bytesMax: SOUND_BYTES_MAX,
    preview: url => h("audio", { controls: true, src: url, "aria-label": t("Preview") }),
    onChoose: ({ name }) => {
      if (!fields.name.read()) fields.name.write(name.replace(/\.[^.]*$/, "").slice(0, SOUND_NAME_MAX));
    },
  });
  await openActionDialog({
    title: t("Add sound"),
    label: t("Add"),
    isDangerous: false,
    fields: { sound, ...fields },
    run: async values => {
      const json = { ...bodyOf(values), sound: values.sound === null ? null : await readDataUrl(values.sound) };
      createdSound = await reportAtField(
        "sound",
        view.context.api.request("POST", `/guilds/${view.guildId}/soundboard-sounds`, { json }),
      );
    },
  });
  return createdSound;
}

function editSound(view, sound) {
  return openActionDialog({
    title: t("Edit {name}", { name: sound.name }),
    label: t("Save"),
    isDangerous: false,
    fields: commonFields(view, sound),
    run: values =>
      view.context.api.request("PATCH", `/guilds/${view.guildId}/soundboard-sounds/${sound.sound_id}`, {
        json: bodyOf(values),
      }),
  });
}
