// @discordjs/voice in a call. Imported only when a test asks for it.

import { VoiceConnectionStatus, entersState, joinVoiceChannel } from "@discordjs/voice";

const PATIENCE_MS = 40_000;
const FRAME_MS = 20;
let connection;
const frames = new Map();

export const voiceSteps = {
  // Joins a voice channel and stays there.
  async enterCall(client, { guild: id, channel }) {
    const guild = client.guilds.cache.get(id);
    connection = joinVoiceChannel({
      guildId: id,
      channelId: channel,
      adapterCreator: guild.voiceAdapterCreator,
      selfDeaf: false,
      selfMute: false,
    });
    await entersState(connection, VoiceConnectionStatus.Ready, PATIENCE_MS);
  },

  // Stores the decrypted frames of a user from now on.
  listen(client, { user }) {
    frames.set(user, []);
    connection.receiver.subscribe(user).on("data", frame => frames.get(user).push(frame.toString()));
  },

  async say(client, { count }) {
    connection.setSpeaking(true);
    for (let number = 0; number < count; number++) {
      connection.playOpusPacket(Buffer.from(`${client.user.id} says ${number}`));
      await new Promise(resolve => setTimeout(resolve, FRAME_MS));
    }
  },

  async heard(client, { user, count }) {
    const deadline = Date.now() + PATIENCE_MS;
    while (frames.get(user).length < count && Date.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, FRAME_MS));
    }
    return frames.get(user);
  },

  // Returns the verification code that participants compare; null while the call is not encrypted.
  code: () => connection.voicePrivacyCode ?? null,

  leaveCall() {
    connection.destroy();
  },
};
