/** Guild settings: the channels in their order, with creation, moves and a preview of access. */

import { ChannelType, Permissions } from "../../network/enums.js";
import { channelPermissions } from "../../state/permissions.js";
import { iconButton } from "../../ui/controls.js";
import { h, icon, reconcile } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { t, tn } from "../../ui/translation.js";
import { channelIconName } from "../../content/avatars.js";
import { openChannelCreation } from "./creation.js";
import { openChannel } from "./editor.js";
import { CHANNEL_TYPES } from "./fields.js";
import { TreeMoves, buildPositionRequests, listedChannels, mergeTree, readTree } from "./tree.js";
import { SettingsForm } from "../forms/form.js";
import { actionButton, listEntry, lockedNotice } from "../forms/layout.js";
import { HIDDEN_SUMMARY, accessSummary, createViewAsPicker, plainMember } from "../permissions/preview.js";
import { SORTING_HINT, makeSortable, moveHandle } from "../forms/sortable_list.js";

const TYPE_LABELS = new Map(CHANNEL_TYPES.map(([type, label]) => [type, label]));

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const CHANNELS_SCREEN = { id: "channels", label: t("Channels"), icon: "hash", build };

function build(view, focusedId = null) {
  const { context, guildId } = view,
    { state } = context;
  /** @type {import("./tree.js").ChannelTree} */
  let tree = [];
  /** The member whose access is shown, or null. */
  let viewer = null;
  const findChannel = id => state.channels.get(id);
  const moves = new TreeMoves(findChannel);
  const list = h("ul", { class: "settings-list channel-tree", "aria-label": t("Channels") });
  const notice = h("div", { class: "settings-access" });
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => create(null) },
    icon("plus"),
    t("Create channel"),
  );
  const edit = id => view.requestPage(() => openChannel(view, id, () => showList(view, id)));
  const create = async parentId => {
    const createdChannel = await openChannelCreation(context, guildId, parentId);
    if (createdChannel === null) return;
    showNotice(t("{name} was created.", { name: createdChannel.name }), "done");
    if (!form.isDirty) openChannel(view, createdChannel.id, () => showList(view, createdChannel.id));
  };
  const drawChannels = () => {
    const access = view.access,
      denialReason = access.findDenialReason(Permissions.MANAGE_CHANNELS);
    notice.replaceChildren(
      ...(denialReason === null
        ? []
        : [lockedNotice(t("You cannot create or move channels. {reason}", { reason: denialReason }))]),
    );
    createButton.disabled = denialReason !== null;
    const options = { view, access, denialReason, viewer, edit, create };
    reconcile(
      list,
      tree.flatMap(([groupId, ids]) => {
        const category = groupId === null ? undefined : findChannel(groupId);
        const channels = ids.map(findChannel).filter(Boolean);
        return [
          ...(category === undefined ? [] : [categoryEntry(category, channels.length, options)]),
          ...channels.map(channel => channelEntry(channel, category !== undefined, options)),
        ];
      }),
    );
  };
  const field = {
    node: list,
    read: () => tree,
    write(value) {
      tree = value;
      drawChannels();
    },
    setError() {},
    setDisabled() {},
  };
  const moveChannels = changedTree => {
    if (view.access.hasPermissions(Permissions.MANAGE_CHANNELS)) field.write(changedTree);
  };
  const status = makeSortable(list, {
    read: field.read,
    write: field.write,
    step: (id, direction) => moveChannels(moves.step(tree, id, direction)),
    place: (id, otherId, isAfter) => moveChannels(moves.place(tree, id, otherId, isAfter)),
    describe: id => describePlace(tree, id, findChannel),
  });
  const current = () => listedChannels(state, guildId);
  const form = new SettingsForm(
    { order: field },
    { order: readTree(current()) },
    {
      save: () => saveOrder(view, tree, findChannel),
      onInput: () => view.drawBar(),
    },
  );
  view.useForm(form);
  view.onChange(({ kind, id }) => {
    if (kind === "members" && id !== context.me.id) return;
    if (form.isDirty) tree = mergeTree(tree, current());
    form.showStored({ order: readTree(current()) });
    drawChannels();
  });
  const picker = createViewAsPicker(view, member => {
    viewer = member;
    drawChannels();
  });
  if (focusedId !== null) queueMicrotask(() => focusEntry(list, focusedId));
  return [
    notice,
    h("div", { class: "settings-tools" }, createButton, picker),
    h("p", { class: "hint sorting-hint" }, `${SORTING_HINT} ${t("Moving a channel keeps its permissions.")}`),
    list,
    status,
  ];
}

function showList(view, focusedId) {
  view.setContent(CHANNELS_SCREEN.label, build(view, focusedId));
}

function focusEntry(list, key) {
  const row = [...list.children].find(child => child.dataset.key === key);
  (row?.querySelector("[data-focus=edit]") ?? list.closest(".settings-main"))?.focus();
}

async function saveOrder({ context, guildId }, tree, findChannel) {
  for (const json of buildPositionRequests(tree, findChannel))
    await context.api.request("PATCH", `/guilds/${guildId}/channels`, { json });
}

/** Return the announcement of a channel's place after a move. */
function describePlace(tree, id, findChannel) {
  const { name } = findChannel(id);
  const categories = tree.slice(1).map(([groupId]) => groupId);
  if (categories.includes(id)) {
    const place = categories.indexOf(id) + 1;
    return t("{name}: category {place} of {count}.", { name, place, count: categories.length });
  }
  const [groupId, ids] = tree.find(([, group]) => group.includes(id));
  const placeholders = { name, place: ids.indexOf(id) + 1, count: ids.length };
  return groupId === null
    ? t("{name}: {place} of {count} in no category.", placeholders)
    : t("{name}: {place} of {count} in {category}.", { ...placeholders, category: findChannel(groupId).name });
}

/** Return whether members without roles cannot see a channel. */
const isHiddenFromEveryone = (guild, channel) =>
  !(channelPermissions(guild, plainMember(), channel) & Permissions.VIEW_CHANNEL);

/** Return the list entry of a channel or category. */
function entry(channel, { details, iconName, isNested, extra = [] }, { view, access, denialReason, viewer, edit }) {
  const canEdit = [Permissions.MANAGE_CHANNELS, Permissions.MANAGE_ROLES].some(
    bits => access.findChannelDenialReason(bits, channel.id) === null,
  );
  const isPrivate = isHiddenFromEveryone(view.guild, channel);
  const summary = viewer === null ? null : accessSummary(view.guild, viewer, channel);
  const { name } = channel;
  const [label, accessibleName] = canEdit
    ? [t("Edit"), t("Edit {name}", { name })]
    : [t("View"), t("View {name}", { name })];
  return {
    key: channel.id,
    version: JSON.stringify([channel.name, channel.type, details, isNested, isPrivate, summary, label, denialReason]),
    build: () => {
      const button = actionButton(label, () => edit(channel.id), { name: accessibleName });
      button.dataset.focus = "edit";
      const node = listEntry({
        image: [moveHandle(channel.name, denialReason), icon(iconName)],
        title: [
          channel.name,
          isPrivate ? h("span", { class: "tag" }, t("Private")) : null,
          summary === null
            ? null
            : h("span", { class: `tag access${summary === HIDDEN_SUMMARY ? " hidden-tag" : ""}` }, summary),
        ],
        details,
        actions: [...extra, button],
      });
      node.classList.toggle("nested", isNested);
      node.classList.toggle("category-row", channel.type === ChannelType.GUILD_CATEGORY);
      node.classList.toggle("dimmed", summary === HIDDEN_SUMMARY);
      return node;
    },
  };
}

function categoryEntry(category, count, options) {
  const addButton = iconButton(
    "plus",
    t("Create channel in {name}", { name: category.name }),
    () => options.create(category.id),
    {
      disabled: options.denialReason !== null,
    },
  );
  const details = [count === 0 ? t("No channels") : tn("{count} channel", "{count} channels", count)];
  return entry(category, { details, iconName: "down", isNested: false, extra: [addButton] }, options);
}

function channelEntry(channel, isNested, options) {
  const details = [
    [TYPE_LABELS.get(channel.type), channel.nsfw ? t("age-restricted") : null].filter(Boolean).join(" · "),
  ];
  return entry(channel, { details, iconName: channelIconName(channel), isNested }, options);
}
