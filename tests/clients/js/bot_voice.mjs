// Audio of a library's bot over @discordjs/voice, which discord.js and oceanic.js use.

import { setTimeout as sleep } from "node:timers/promises";
import { VoiceConnectionStatus, entersState } from "@discordjs/voice";

const TIMEOUT_MS = 40_000;
const FRAME_COUNT = 20;
const FRAME_MS = 20;

// Wait until a new connection can send audio.
export async function waitUntilConnected(connection) {
  await entersState(connection, VoiceConnectionStatus.Ready, TIMEOUT_MS);
}

// Send a few frames, which name their sender, once the call is end-to-end encrypted.
export async function sendFrames(connection, userID) {
  while (!connection.voicePrivacyCode) await sleep(FRAME_MS);
  connection.setSpeaking(true);
  for (let number = 0; number < FRAME_COUNT; number++) {
    connection.playOpusPacket(Buffer.from(`${userID} frame ${number}`));
    await sleep(FRAME_MS);
  }
}
