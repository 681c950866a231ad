// A discord.js bot with a command, a button, a modal and a reaction role.

import {
  ActionRowBuilder,
  ApplicationCommandOptionType,
  ButtonBuilder,
  ButtonStyle,
  Client,
  Events,
  GatewayIntentBits,
  ModalBuilder,
  Partials,
  TextInputBuilder,
  TextInputStyle,
} from "discord.js";

const COMMANDS = [
  {
    name: "panel",
    description: "Show a button",
    options: [
      {
        type: ApplicationCommandOptionType.String,
        name: "title",
        description: "Text above the button",
        required: true,
      },
    ],
  },
  { name: "feedback", description: "Send feedback" },
];

function buildPanel(title) {
  const button = new ButtonBuilder().setCustomId("count").setLabel("Count").setStyle(ButtonStyle.Primary);
  return { content: title, components: [new ActionRowBuilder().addComponents(button)] };
}

function buildFeedbackModal() {
  const input = new TextInputBuilder().setCustomId("text").setLabel("Text").setStyle(TextInputStyle.Paragraph);
  const row = new ActionRowBuilder().addComponents(input);
  return new ModalBuilder().setCustomId("feedback").setTitle("Feedback").addComponents(row);
}

/**
 * Log the bot in at a platform; return the client when it is ready and its commands are registered. Members who react
 * with 🎲 get the role `roleId`.
 */
export async function startBot({ token, api, cdn, roleId }) {
  const client = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.GuildMessageReactions],
    partials: [Partials.Message, Partials.Channel, Partials.Reaction],
    rest: { api, cdn, version: "10" },
  });
  let clickCount = 0;

  client.on(Events.InteractionCreate, async interaction => {
    if (interaction.isChatInputCommand() && interaction.commandName === "panel") {
      await interaction.reply(buildPanel(interaction.options.getString("title")));
    } else if (interaction.isChatInputCommand()) {
      await interaction.showModal(buildFeedbackModal());
    } else if (interaction.isButton()) {
      clickCount += 1;
      await interaction.update({ content: `pressed ${clickCount} times` });
    } else if (interaction.isModalSubmit()) {
      await interaction.deferReply();
      await interaction.editReply(`Thank you: ${interaction.fields.getTextInputValue("text")}`);
    }
  });

  client.on(Events.MessageReactionAdd, async (reaction, user) => {
    if (reaction.emoji.name !== "🎲" || user.bot) return;
    const member = await reaction.message.guild.members.fetch(user.id);
    await member.roles.add(roleId);
  });

  const ready = new Promise(resolve => client.once(Events.ClientReady, resolve));
  await client.login(token);
  await ready;
  await client.application.commands.set(COMMANDS);
  return client;
}
