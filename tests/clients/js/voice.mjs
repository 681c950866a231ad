// Steps that run @discordjs/voice in a call. `driver.mjs` imports them only if a test uses them, because the package
// needs a newer version of Node than the other packages.

import { VoiceConnectionStatus, entersState, joinVoiceChannel } from "@discordjs/voice";

const TIMEOUT_MS = 40_000;
const FRAME_MS = 20;
let connection;
// Decrypted frames by the ID of the user who sent them.
const framesByUser = new Map();
let playTimer;

export const voiceSteps = {
  // Join a voice channel and stay there.
  async joinCall(client, { guild: id, channel }) {
    const guild = client.guilds.cache.get(id);
    connection = joinVoiceChannel({
      guildId: id,
      channelId: channel,
      adapterCreator: guild.voiceAdapterCreator,
      selfDeaf: false,
      selfMute: false,
    });
    await entersState(connection, VoiceConnectionStatus.Ready, TIMEOUT_MS);
  },

  // Store the decrypted frames of a user from now on, as text of an encoding.
  recordFrames(client, { user, encoding = "utf8" }) {
    framesByUser.set(user, []);
    connection.receiver.subscribe(user).on("data", frame => framesByUser.get(user).push(frame.toString(encoding)));
  },

  // Play Opus frames, encoded with base64, over and over until the bot leaves.
  playFrames(client, { frames }) {
    connection.setSpeaking(true);
    let count = 0;
    const startedAt = Date.now();
    playTimer = setInterval(() => {
      while (count * FRAME_MS < Date.now() - startedAt)
        connection.playOpusPacket(Buffer.from(frames[count++ % frames.length], "base64"));
    }, FRAME_MS);
  },

  async sendFrames(client, { count }) {
    connection.setSpeaking(true);
    for (let number = 0; number < count; number++) {
      connection.playOpusPacket(Buffer.from(`${client.user.id} frame ${number}`));
      await new Promise(resolve => setTimeout(resolve, FRAME_MS));
    }
  },

  // Wait for this many frames of a user, or until the timeout, and return the frames received so far.
  async receiveFrames(client, { user, count }) {
    const deadline = Date.now() + TIMEOUT_MS;
    while (framesByUser.get(user).length < count && Date.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, FRAME_MS));
    }
    return framesByUser.get(user);
  },

  // Return the verification code that participants compare; null while the call is not encrypted.
  verificationCode: () => connection.voicePrivacyCode ?? null,

  leaveCall() {
    clearInterval(playTimer);
    connection.destroy();
  },
};
