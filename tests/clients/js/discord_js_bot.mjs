// A bot with discord.js, which `test_library_bots.py` runs.

import { getVoiceConnection, joinVoiceChannel } from "@discordjs/voice";
import {
  ActionRowBuilder,
  ApplicationCommandOptionType,
  AutoModerationActionType,
  AutoModerationRuleEventType,
  AutoModerationRuleTriggerType,
  ButtonBuilder,
  ButtonStyle,
  ChannelType,
  Client,
  Events,
  GatewayIntentBits,
  GuildScheduledEventEntityType,
  GuildScheduledEventPrivacyLevel,
  MessageFlags,
  ModalBuilder,
  Partials,
  StringSelectMenuBuilder,
  TextInputBuilder,
  TextInputStyle,
} from "discord.js";
import { emoji, eventEnd, eventStart, image, report, runSteps, settings } from "./bot_steps.mjs";
import { sendFrames, waitUntilConnected } from "./bot_voice.mjs";

const client = new Client({
  intents: Object.values(GatewayIntentBits).filter(Number.isInteger),
  partials: [Partials.Message, Partials.Reaction],
  rest: { api: settings.api.replace(/\/v\d+$/, "") },
});
const { guild: guildId, channel: channelId, voice: voiceId, role: roleId } = settings;

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

const guild = () => client.guilds.cache.get(guildId);
const channel = () => client.channels.cache.get(channelId);

const steps = {
  async files() {
    const files = [{ attachment: image, name: "pixel.png", description: "one pixel" }];
    const attachment = (await channel().send({ content: "a file", files })).attachments.first();
    const body = await (await fetch(attachment.url)).arrayBuffer();
    return [attachment.name, attachment.description, body.byteLength];
  },
  async threads() {
    const message = await channel().send("chapter one");
    const thread = await message.startThread({ name: "story", autoArchiveDuration: 60 });
    await thread.send("once upon a time");
    return [thread.name, thread.parentId === channelId];
  },
  async forums() {
    const options = { name: "ideas", type: ChannelType.GuildForum, availableTags: [{ name: "new" }] };
    const forum = await guild().channels.create(options);
    const appliedTags = forum.availableTags.map(tag => tag.id);
    const post = await forum.threads.create({ name: "first", message: { content: "text" }, appliedTags });
    const message = await post.fetchStarterMessage();
    const names = post.appliedTags.map(id => forum.availableTags.find(tag => tag.id === id).name);
    return [post.name, message.content, names];
  },
  async polls() {
    const answers = ["Soup", "Bread"].map(text => ({ text }));
    const poll = { question: { text: "Lunch?" }, answers, duration: 1, allowMultiselect: false };
    const message = await channel().send({ poll });
    const ended = await message.poll.end();
    return [message.poll.question.text, ended.poll.answers.map(entry => entry.text)];
  },
  async stickers() {
    const file = { attachment: image, name: "wave.png" };
    const sticker = await guild().stickers.create({ name: "wave", description: "waves", tags: "wave", file });
    const message = await channel().send({ stickers: [sticker] });
    return [sticker.name, message.stickers.map(item => item.name)];
  },
  async catalog() {
    const packs = await client.fetchStickerPacks();
    return [packs.map(pack => pack.name), (await client.application.fetch()).name !== ""];
  },
  async events() {
    const event = await guild().scheduledEvents.create({
      name: "Fair",
      entityType: GuildScheduledEventEntityType.External,
      entityMetadata: { location: "Park" },
      privacyLevel: GuildScheduledEventPrivacyLevel.GuildOnly,
      scheduledStartTime: eventStart,
      scheduledEndTime: eventEnd,
    });
    const fetched = await guild().scheduledEvents.fetch({ withUserCount: true });
    return [event.name, event.entityMetadata.location, fetched.size];
  },
  async auto_moderation() {
    const rule = await guild().autoModerationRules.create({
      name: "No fish",
      eventType: AutoModerationRuleEventType.MessageSend,
      triggerType: AutoModerationRuleTriggerType.Keyword,
      triggerMetadata: { keywordFilter: ["fish"] },
      actions: [{ type: AutoModerationActionType.BlockMessage }],
      enabled: true,
    });
    return [rule.name, (await guild().autoModerationRules.fetch()).first().triggerMetadata.keywordFilter];
  },
  async templates() {
    const template = await guild().createTemplate("Plan", "a plan");
    const fetched = await guild().fetchTemplates();
    return [template.name, fetched.map(found => found.code)[0] === template.code];
  },
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
