// The same small bot in discord.js, oceanic.js and eris: a command, a button, a modal, a reaction role and a voice channel.
// `small_bot.test.mjs` tests it.

import { Agent } from "node:https";

const EMOJI = "🎲";
const COMMANDS = [
  {
    type: 1,
    name: "greet",
    description: "Greets",
    options: [{ type: 3, name: "name", description: "Name", required: true }],
  },
  ...["ask", "join", "panel"].map(name => ({ type: 1, name, description: name })),
];
const BUTTON = { type: 2, style: 2, label: "Press" };
const INPUT = { type: 4, style: 1, label: "Answer" };

/** Start the bot of discord.js; return a function that stops it. */
async function startDiscordJsBot({ token, api, guildId, roleId, voiceId }) {
  const { Client, Events, GatewayIntentBits, GatewayOpcodes, Partials } = await import("discord.js");
  const client = new Client({
    intents: Object.values(GatewayIntentBits).filter(Number.isInteger),
    partials: [Partials.Message, Partials.Reaction],
    rest: { api: api.replace(/\/v\d+$/, "") },
  });
  client.on(Events.Error, error => console.error(error));
  client.on(Events.InteractionCreate, async interaction => {
    const { commandName } = interaction;
    if (interaction.isButton()) {
      await interaction.update("pressed");
    } else if (interaction.isModalSubmit()) {
      await interaction.reply(`answer: ${interaction.fields.getTextInputValue("answer")}`);
    } else if (commandName === "greet") {
      await interaction.reply(`hello ${interaction.options.getString("name", true)}`);
    } else if (commandName === "ask") {
      const components = [{ type: 1, components: [{ ...INPUT, customId: "answer" }] }];
      await interaction.showModal({ title: "Question", customId: "form", components });
    } else if (commandName === "panel") {
      const components = [{ type: 1, components: [{ ...BUTTON, customId: "press" }] }];
      await interaction.reply({ content: "panel", components });
    } else if (commandName === "join") {
      const state = { guild_id: guildId, channel_id: voiceId, self_mute: false, self_deaf: false };
      interaction.guild.shard.send({ op: GatewayOpcodes.VoiceStateUpdate, d: state });
      await interaction.reply("joined");
    }
  });
  client.on(Events.MessageReactionAdd, async (reaction, user) => {
    if (reaction.emoji.name !== EMOJI) return;
    const member = await client.guilds.cache.get(guildId).members.fetch(user.id);
    await member.roles.add(roleId);
  });
  const ready = new Promise(resolve => client.once(Events.ClientReady, resolve));
  await client.login(token);
  await ready;
  await client.application.commands.set(COMMANDS, guildId);
  return () => client.destroy();
}

/** Start the bot of oceanic.js; return a function that stops it. */
async function startOceanicBot({ token, api, applicationId, guildId, roleId, voiceId }) {
  const { Client, InteractionTypes } = await import("oceanic.js");
  const client = new Client({ auth: `Bot ${token}`, gateway: { intents: ["ALL"] }, rest: { baseURL: api } });
  client.on("error", error => console.error(error));
  client.on("interactionCreate", async interaction => {
    const { name, options } = interaction.data;
    if (interaction.type === InteractionTypes.MESSAGE_COMPONENT) {
      await interaction.editParent({ content: "pressed" });
    } else if (interaction.type === InteractionTypes.MODAL_SUBMIT) {
      await interaction.createMessage({
        content: `answer: ${interaction.data.components.getTextInput("answer", true)}`,
      });
    } else if (name === "greet") {
      await interaction.createMessage({ content: `hello ${options.getString("name", true)}` });
    } else if (name === "ask") {
      const components = [{ type: 1, components: [{ ...INPUT, customID: "answer" }] }];
      await interaction.createModal({ title: "Question", customID: "form", components });
    } else if (name === "panel") {
      const components = [{ type: 1, components: [{ ...BUTTON, customID: "press" }] }];
      await interaction.createMessage({ content: "panel", components });
    } else if (name === "join") {
      const state = { selfDeaf: false, selfMute: false };
      client.guilds.get(guildId).shard.updateVoiceState(guildId, voiceId, state);
      await interaction.createMessage({ content: "joined" });
    }
  });
  client.on("messageReactionAdd", async (_message, reactor, reaction) => {
    if (reaction.emoji.name === EMOJI) await client.rest.guilds.addMemberRole(guildId, reactor.id, roleId);
  });
  const ready = new Promise(resolve => client.once("ready", resolve));
  await client.connect();
  await ready;
  await client.rest.applications.bulkEditGuildCommands(applicationId, guildId, COMMANDS);
  return () => client.disconnect(false);
}

/** Start the bot of eris, which sends its requests to port 443 over TLS; return a function that stops it. */
async function startErisBot({ token, api, guildId, roleId, voiceId }) {
  const { Client, Constants } = await import("eris");
  const server = new URL(api);
  class PortAgent extends Agent {
    createConnection(options, callback) {
      return super.createConnection({ ...options, port: Number(server.port) }, callback);
    }
  }
  const rest = { domain: server.hostname, baseURL: server.pathname, agent: new PortAgent() };
  const client = new Client(`Bot ${token}`, { intents: ["all"], rest });
  client.on("error", error => console.error(error));
  client.on("interactionCreate", async interaction => {
    const { name, options, components } = interaction.data;
    if (interaction.type === Constants.InteractionTypes.MESSAGE_COMPONENT) {
      await interaction.editParent({ content: "pressed" });
    } else if (interaction.type === Constants.InteractionTypes.MODAL_SUBMIT) {
      await interaction.createMessage(`answer: ${components[0].components[0].value}`);
    } else if (name === "greet") {
      await interaction.createMessage(`hello ${options[0].value}`);
    } else if (name === "ask") {
      const rows = [{ type: 1, components: [{ ...INPUT, custom_id: "answer" }] }];
      await interaction.createModal({ title: "Question", custom_id: "form", components: rows });
    } else if (name === "panel") {
      const rows = [{ type: 1, components: [{ ...BUTTON, custom_id: "press" }] }];
      await interaction.createMessage({ content: "panel", components: rows });
    } else if (name === "join") {
      const state = { guild_id: guildId, channel_id: voiceId, self_mute: false, self_deaf: false };
      client.guilds.get(guildId).shard.sendWS(Constants.GatewayOPCodes.VOICE_STATE_UPDATE, state);
      await interaction.createMessage("joined");
    }
  });
  client.on("messageReactionAdd", async (_message, reaction, reactor) => {
    if (reaction.name === EMOJI) await client.addGuildMemberRole(guildId, reactor.id, roleId);
  });
  const ready = new Promise(resolve => client.once("ready", resolve));
  await client.connect();
  await ready;
  await client.bulkEditGuildCommands(guildId, COMMANDS);
  return () => client.disconnect({ reconnect: false });
}

export const STARTERS = { "discord.js": startDiscordJsBot, eris: startErisBot, "oceanic.js": startOceanicBot };
