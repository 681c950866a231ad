// A bot with discord.js, which `test_library_bots.py` runs.

import { getVoiceConnection, joinVoiceChannel } from "@discordjs/voice";
import {
  ActionRowBuilder,
  ApplicationCommandOptionType,
  ButtonBuilder,
  ButtonStyle,
  Client,
  Events,
  GatewayIntentBits,
  MessageFlags,
  ModalBuilder,
  Partials,
  StringSelectMenuBuilder,
  TextInputBuilder,
  TextInputStyle,
} from "discord.js";
import { emoji, report, runSteps, settings } from "./bot_steps.mjs";
import { sendFrames, waitUntilConnected } from "./bot_voice.mjs";

const client = new Client({
  intents: Object.values(GatewayIntentBits).filter(Number.isInteger),
  partials: [Partials.Message, Partials.Reaction],
  rest: { api: settings.api.replace(/\/v\d+$/, "") },
});
const { guild: guildId, voice: voiceId, role: roleId } = settings;

const row = component => new ActionRowBuilder().addComponents(component);
const commands = [
  {
    name: "greet",
    description: "Greets",
    options: [{ type: ApplicationCommandOptionType.String, name: "name", description: "Name", required: true }],
  },
  ...["ask", "join", "leave", "panel", "sing"].map(name => ({ name, description: name })),
];
const panel = [
  row(new ButtonBuilder().setCustomId("press").setLabel("Press").setStyle(ButtonStyle.Secondary)),
  row(new StringSelectMenuBuilder().setCustomId("pick").addOptions(["a", "b"].map(value => ({ label: value, value })))),
];
const answer = new TextInputBuilder().setCustomId("answer").setLabel("Answer").setStyle(TextInputStyle.Short);
const form = new ModalBuilder().setCustomId("form").setTitle("Question").addComponents(row(answer));

const replies = {
  greet: interaction => interaction.reply(`hello ${interaction.options.getString("name", true)}`),
  ask: interaction => interaction.showModal(form),
  panel: interaction => interaction.reply({ content: "panel", components: panel }),
  async join(interaction) {
    const adapterCreator = interaction.guild.voiceAdapterCreator;
    await waitUntilConnected(joinVoiceChannel({ guildId, channelId: voiceId, adapterCreator, selfDeaf: false }));
    await interaction.reply("joined");
  },
  async sing(interaction) {
    await sendFrames(getVoiceConnection(guildId), client.user.id);
    await interaction.reply("sang");
  },
  async leave(interaction) {
    getVoiceConnection(guildId).destroy();
    await interaction.reply("left");
  },
};

async function respond(interaction) {
  if (interaction.isChatInputCommand()) await replies[interaction.commandName](interaction);
  else if (interaction.isModalSubmit()) {
    await interaction.reply(`answer: ${interaction.fields.getTextInputValue("answer")}`);
  } else if (interaction.customId === "press") await interaction.update("pressed");
  else await interaction.reply({ content: `picked ${interaction.values[0]}`, flags: MessageFlags.Ephemeral });
}

async function giveRole(reaction, user) {
  if (reaction.emoji.name !== emoji) return;
  const member = await client.guilds.cache.get(guildId).members.fetch(user.id);
  await member.roles.add(roleId);
}

const steps = {
  async commands_registered() {
    const registered = await client.application.commands.set(commands, guildId);
    return registered.map(command => command.name).sort();
  },
};

const reportError = error => report({ log: `${error.stack ?? error}` });
client.on(Events.Error, reportError);
client.on(Events.Warn, message => report({ log: `${message}` }));
client.on(Events.InteractionCreate, interaction => respond(interaction).catch(reportError));
client.on(Events.MessageReactionAdd, (reaction, user) => giveRole(reaction, user).catch(reportError));
client.once(Events.ClientReady, () => runSteps(steps));
await client.login(settings.token);
