/** The dialog that follows an announcement channel: its published messages are copied to another channel. */

import { ChannelType, Permissions } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { choiceSetting } from "../settings/forms/fields.js";
import { openActionDialog } from "../settings/forms/form.js";

const TARGET_BITS = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS;

/** Open the dialog. */
export async function openFollowing(context, channel) {
  const { api } = context;
  const title = t("Follow #{channel}", { channel: channel.name });
  const options = listTargets(context, channel);
  if (!options.length) {
    openDialog(title, () =>
      h("p", null, t("You need the permission “Manage webhooks” in the channel that is to receive the announcements.")),
    );
    return;
  }
  const target = choiceSetting(t("Show its announcements in"), options);
  target.write(options[0][0]);
  const isDone = await openActionDialog({
    title,
    text: t("Messages that are published in #{channel} also appear in the channel that you choose.", {
      channel: channel.name,
    }),
    label: t("Follow"),
    isDangerous: false,
    fields: { webhook_channel_id: target },
    run: values => api.request("POST", `/channels/${channel.id}/followers`, { json: values }),
  });
  if (isDone) showNotice(t("You follow #{channel} now.", { channel: channel.name }), "done");
}

/** Return the channels in which the user can create webhooks: pairs of the ID and a label with the guild. */
function listTargets({ state }, followedChannel) {
  return [...state.guilds.values()].flatMap(guild =>
    state
      .channelsOf(guild.id)
      .filter(
        channel =>
          channel.type === ChannelType.GUILD_TEXT &&
          channel.id !== followedChannel.id &&
          state.can(channel.id, TARGET_BITS),
      )
      .map(channel => [channel.id, `#${channel.name} – ${guild.name}`]),
  );
}
