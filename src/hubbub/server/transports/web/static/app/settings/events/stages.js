/** Guild settings: the stage channels, in which moderators start and end stages and change their topic. */

import { STAGE_TOPIC_MAX } from "../../generated/limits.js";
import { ChannelType, Permissions } from "../../network/enums.js";
import { h, reconcile } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { switchSetting, textSetting } from "../forms/fields.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, listEntry } from "../forms/layout.js";

/** The permissions of a stage moderator; all are required (spec/http.md#3.9). */
const MODERATOR_PERMISSIONS = [Permissions.MANAGE_CHANNELS, Permissions.MUTE_MEMBERS, Permissions.MOVE_MEMBERS];

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const STAGES_SCREEN = { id: "stages", label: t("Stages"), icon: "voice", build };

function build(view) {
  const list = h("ul", { class: "settings-list", "aria-label": t("Stages") });
  const status = h("p", { class: "muted", role: "status" });
  const drawStages = () => {
    const channels = view.context.state
      .channelsOf(view.guildId)
      .filter(
        channel =>
          channel.type === ChannelType.GUILD_STAGE_VOICE &&
          view.context.state.can(channel.id, Permissions.VIEW_CHANNEL),
      )
      .sort((a, b) => a.position - b.position);
    status.textContent = channels.length ? "" : t("There are no stage channels. Create one under “Channels”.");
    reconcile(
      list,
      channels.map(channel => stageEntry(view, channel)),
    );
  };
  view.onChange(drawStages);
  drawStages();
  return [status, list];
}

/** Return why the user cannot moderate a stage, or null. */
function moderationDenialReason(access, channelId) {
  return (
    MODERATOR_PERMISSIONS.map(bits => access.findChannelDenialReason(bits, channelId)).find(
      denialReason => denialReason !== null,
    ) ?? null
  );
}

function stageEntry(view, channel) {
  const stage = (view.guild.stage_instances ?? []).find(({ channel_id: id }) => id === channel.id);
  const denialReason = moderationDenialReason(view.access, channel.id);
  const button = (label, onClick, isDangerous = false) => {
    const node = actionButton(label, onClick, { denialReason, isDangerous, name: `${label}: ${channel.name}` });
    node.dataset.focus = label;
    return node;
  };
  return {
    key: channel.id,
    version: JSON.stringify([channel.name, stage?.topic ?? null, denialReason]),
    build: () =>
      listEntry({
        title: [channel.name, stage === undefined ? null : h("span", { class: "tag" }, t("Live"))],
        details: [stage?.topic ?? t("Not live"), denialReason],
        actions:
          stage === undefined
            ? [button(t("Start stage"), () => startStage(view, channel))]
            : [
                button(t("Change topic"), () => changeTopic(view, channel, stage)),
                button(t("End stage"), () => endStage(view, channel, stage), true),
              ],
      }),
  };
}

const topicSetting = () => textSetting(t("Topic"), { maxlength: STAGE_TOPIC_MAX, required: true });

async function startStage(view, channel) {
  const mentionDenialReason = view.access.findChannelDenialReason(Permissions.MENTION_EVERYONE, channel.id);
  const notify = switchSetting(t("Notify everyone"), { hint: mentionDenialReason ?? undefined });
  notify.setDisabled(mentionDenialReason !== null);
  const isDone = await openActionDialog({
    title: t("Start {name}?", { name: channel.name }),
    label: t("Start stage"),
    isDangerous: false,
    fields: { topic: topicSetting(), send_start_notification: notify },
    run: async values => {
      const json = { channel_id: channel.id, ...values };
      view.context.state.apply(
        "STAGE_INSTANCE_CREATE",
        await view.context.api.request("POST", "/stage-instances", { json }),
      );
    },
  });
  if (isDone) showNotice(t("{name} is live.", { name: channel.name }), "done");
}

async function changeTopic({ context }, channel, stage) {
  const topic = topicSetting();
  topic.write(stage.topic);
  await openActionDialog({
    title: t("Change topic"),
    label: t("Save"),
    isDangerous: false,
    fields: { topic },
    run: async json =>
      context.state.apply(
        "STAGE_INSTANCE_UPDATE",
        await context.api.request("PATCH", `/stage-instances/${channel.id}`, { json }),
      ),
  });
}

async function endStage({ context }, channel, stage) {
  const isDone = await openActionDialog({
    title: t("End {name}?", { name: channel.name }),
    text: t("The topic is removed. Members stay in the channel."),
    label: t("End stage"),
    run: async () => {
      await context.api.request("DELETE", `/stage-instances/${channel.id}`);
      context.state.apply("STAGE_INSTANCE_DELETE", stage);
    },
  });
  if (isDone) showNotice(t("{name} ended.", { name: channel.name }), "done");
}
