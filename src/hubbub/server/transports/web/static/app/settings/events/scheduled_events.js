/** Guild settings: scheduled events, in a list and with a page for each. */

import { EventStatus } from "../../generated/enums.js";
import { Permissions } from "../../network/enums.js";
import { openDialog } from "../../ui/dialogs.js";
import { h, icon, setChildren } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { timeElement } from "../../ui/times.js";
import { t, tNodes, tn } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { eventImagePath } from "../../content/cdn_paths.js";
import { channelLabel } from "../channels/choices.js";
import { eventDates } from "./dates.js";
import { NO_REPETITION, eventBody, eventFields, eventValues, newEventBody, repetitionText } from "./fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, settingsSection, statusLine, viewOnlyNotice } from "../forms/layout.js";
import { liveList } from "../forms/live_list.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const EVENTS_SCREEN = { id: "events", label: t("Events"), icon: "calendar", build };

/** Return why the user cannot change an event, or null. */
function editDenialReason(access, event) {
  const isOwn = event.creator_id === access.me.id;
  const permissions =
    isOwn && !access.hasPermissions(Permissions.MANAGE_EVENTS) ? Permissions.CREATE_EVENTS : Permissions.MANAGE_EVENTS;
  return event.channel_id
    ? access.findChannelDenialReason(permissions, event.channel_id)
    : access.findDenialReason(permissions);
}

const eventsPath = ({ guildId }) => `/guilds/${guildId}/scheduled-events`;

function build(view, focusedId = null) {
  const { context } = view;
  const notice = h("div", { class: "settings-access" });
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => createEvent() },
    icon("plus"),
    t("Create event"),
  );
  const open = event => view.requestPage(() => openEvent(view, event, id => showList(view, id)));
  const list = liveList({
    label: t("Events"),
    emptyText: t("No events are scheduled. Create one to invite members to a time and place."),
    fetchItems: () => context.api.request("GET", eventsPath(view), { query: { with_user_count: true } }),
    describeItem: event => describeEvent(view, event, open),
  });
  const createEvent = async () => {
    const event = await openCreationDialog(view);
    if (event === null) return;
    showNotice(t("{name} was created.", { name: event.name }), "done");
    await list.refresh();
    list.focus(event.id);
  };
  const drawEvents = () => {
    const denialReason = view.access.findDenialReason(Permissions.CREATE_EVENTS);
    createButton.disabled = denialReason !== null;
    const isLocked = denialReason !== null && !view.access.hasPermissions(Permissions.MANAGE_EVENTS);
    setChildren(
      notice,
      isLocked
        ? viewOnlyNotice(denialReason)
        : denialReason && h("p", { class: "hint" }, t("To create events: {reason}", { reason: denialReason })),
    );
    list.draw();
  };
  view.onChange(({ kind }) => {
    drawEvents();
    if (kind === "scheduledEvents") list.refreshSoon();
  });
  drawEvents();
  if (focusedId !== null) list.loaded.then(() => list.focus(focusedId) || createButton.focus());
  return [notice, h("div", { class: "settings-tools" }, createButton), ...list.nodes];
}

function showList(view, focusedId) {
  view.setContent(EVENTS_SCREEN.label, build(view, focusedId));
}

/** Return the text with the place of an event, or null. */
function placeText({ state }, event) {
  if (!event.channel_id) return event.entity_metadata?.location ?? null;
  return state.channels.has(event.channel_id)
    ? channelLabel(state.channels.get(event.channel_id))
    : t("a hidden channel");
}

/** Return the node with the start and end of an event. */
function timeNode(event) {
  const startTime = timeElement(Date.parse(event.scheduled_start_time), "f");
  if (!event.scheduled_end_time) return h("span", null, startTime);
  const endTime = timeElement(Date.parse(event.scheduled_end_time), "f");
  return h("span", null, ...tNodes("{start} to {end}", { start: startTime, end: endTime }));
}

function describeEvent(view, event, open) {
  const denialReason = editDenialReason(view.access, event),
    place = placeText(view.context, event),
    creator = event.creator?.global_name || event.creator?.username;
  return {
    key: event.id,
    version: JSON.stringify([event, denialReason, place]),
    build: () => {
      const { name } = event;
      const button =
        denialReason === null
          ? actionButton(t("Edit"), () => open(event), { name: t("Edit {name}", { name }) })
          : actionButton(t("View"), () => open(event), { name: t("View {name}", { name }) });
      button.dataset.focus = "edit";
      return listEntry({
        image: event.image
          ? h("img", { class: "event-image", src: eventImagePath(event), alt: "", loading: "lazy" })
          : h("span", { class: "event-image" }, icon("calendar")),
        title: [event.name, event.status === EventStatus.ACTIVE ? h("span", { class: "tag" }, t("Now")) : null],
        details: [
          timeNode(event),
          [place, repetitionText(event)].filter(Boolean).join(" · "),
          [
            tn("{count} interested", "{count} interested", event.user_count ?? 0),
            creator && t("created by {name}", { name: creator }),
          ]
            .filter(Boolean)
            .join(" · "),
        ],
        actions: [button],
      });
    },
  };
}

/** Open the dialog that creates an event. Resolve to the event, or null. */
async function openCreationDialog(view) {
  // The fields need an event for previews of images; this placeholder has no stored image.
  const fields = eventFields(view, { id: "0" });
  for (const field of [fields.channel_id, fields.entity_metadata, fields.image]) field.write(null);
  fields.recurrence_rule.write(NO_REPETITION);
  let createdEvent = null;
  await openActionDialog({
    title: t("Create event"),
    label: t("Create"),
    isDangerous: false,
    fields,
    run: async values => {
      createdEvent = await view.context.api.request("POST", eventsPath(view), { json: newEventBody(view, values) });
    },
  });
  return createdEvent;
}

/** Actions on an event by its status; `status` is the next status and `text` the text of the dialog. */
const TRANSITIONS = new Map([
  [
    EventStatus.SCHEDULED,
    [
      {
        label: t("Start now"),
        status: EventStatus.ACTIVE,
        text: t("Members see that the event takes place now."),
        isDangerous: false,
      },
      {
        label: t("Cancel event"),
        status: EventStatus.CANCELED,
        text: t("Interested members no longer see it. This cannot be undone."),
        isDangerous: true,
      },
    ],
  ],
  [
    EventStatus.ACTIVE,
    [
      {
        label: t("End event"),
        status: EventStatus.COMPLETED,
        text: t("The event is over. This cannot be undone."),
        isDangerous: true,
      },
    ],
  ],
]);

/** Show the page of an event; `goBack` shows the list again. */
function openEvent(view, event, goBack) {
  const { context } = view,
    path = `${eventsPath(view)}/${event.id}`;
  let current = event,
    isEndingHere = false;
  const fields = eventFields(view, event);
  const notice = h("div", { class: "settings-access" }),
    actions = h("div", { class: "row" });
  const occurrences = eventDates(view, path, () => reload());
  const readAll = () => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.read()]));
  const form = new SettingsForm(fields, eventValues(event), {
    save: async changes => {
      current = await context.api.request("PATCH", path, { json: eventBody(view, changes, readAll()) });
      view.setTitle(current.name);
      drawEvent();
      return eventValues(current);
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const leave = text => {
    goBack(event.id);
    showNotice(text, "done");
  };
  /** Send a request that ends or deletes the event, and ignore updates of the event during it. */
  const end = async request => {
    isEndingHere = true;
    try {
      return await request();
    } catch (error) {
      isEndingHere = false;
      // Load the updates that were ignored during the request.
      reload();
      throw error;
    }
  };
  const applyTransition = async ({ label, status, text, isDangerous }) => {
    const endsEvent = status !== EventStatus.ACTIVE;
    const patch = () => context.api.request("PATCH", path, { json: { status } });
    const isDone = await openActionDialog({
      title: t("{label}?", { label }),
      text,
      label,
      isDangerous,
      run: async () => {
        current = await (endsEvent ? end(patch) : patch());
      },
    });
    if (!isDone) return;
    if (endsEvent)
      leave(
        status === EventStatus.CANCELED
          ? t("{name} was canceled.", { name: current.name })
          : t("{name} has ended.", { name: current.name }),
      );
    else drawEvent();
  };
  const remove = async () => {
    const isDone = await openActionDialog({
      title: t("Delete {name}?", { name: current.name }),
      text: t("Members no longer see the event. This cannot be undone."),
      label: t("Delete event"),
      run: () => end(() => context.api.request("DELETE", path)),
    });
    if (isDone) leave(t("{name} was deleted.", { name: current.name }));
  };
  const drawEvent = () => {
    const denialReason = editDenialReason(view.access, current);
    setChildren(notice, denialReason === null ? null : viewOnlyNotice(denialReason));
    for (const field of Object.values(fields)) field.setDisabled(denialReason !== null);
    occurrences.draw(current, denialReason);
    setChildren(
      actions,
      actionButton(t("Show interested members"), () => openInterestedMembers(view, current)),
      (TRANSITIONS.get(current.status) ?? []).map(transition =>
        actionButton(transition.label, () => applyTransition(transition), {
          isDangerous: transition.isDangerous,
          denialReason,
        }),
      ),
      actionButton(t("Delete event"), remove, { isDangerous: true, denialReason }),
    );
  };
  const reload = () =>
    runAndReport(async () => {
      const events = await context.api.request("GET", eventsPath(view));
      if (!notice.isConnected || isEndingHere) return;
      const changedEvent = events.find(({ id }) => id === event.id);
      if (changedEvent === undefined) {
        goBack(event.id);
        showNotice(t("{name} was ended or deleted by someone else.", { name: current.name }));
        return;
      }
      current = changedEvent;
      view.setTitle(current.name);
      form.showStored(eventValues(current));
      drawEvent();
    });
  view.onChange(({ kind, id }) => {
    if (kind !== "scheduledEvents") drawEvent();
    else if (id === event.id) reload();
  });
  drawEvent();
  const nodes = names => names.map(name => fields[name].node);
  view.openPage(event.name, t("All events"), () => goBack(event.id), [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection(t("Event"), nodes(["name", "description", "image"])),
      settingsSection(t("Place"), nodes(["channel_id", "entity_metadata"])),
      settingsSection(t("Time"), nodes(["scheduled_start_time", "scheduled_end_time", "recurrence_rule"])),
      occurrences.node,
      settingsSection(t("Actions"), actions),
    ),
  ]);
}

/** Open the dialog with the members who are interested in an event. */
function openInterestedMembers(view, event) {
  openDialog(t("Interested in {name}", { name: event.name }), () => {
    const status = statusLine(t("Loading…"));
    const list = h("ul", { class: "settings-list", "aria-label": t("Interested members") });
    runAndReport(async () => {
      const users = await view.context.api.request("GET", `${eventsPath(view)}/${event.id}/users`, {
        query: { with_member: true },
      });
      status.textContent = users.length ? "" : t("No member is interested yet.");
      setChildren(
        list,
        users.map(({ user, member }) => {
          const name = member?.nick || user.global_name || user.username;
          return listEntry({ image: userAvatar(user, name), title: name, details: [`@${user.username}`] });
        }),
      );
    });
    return h("div", { class: "stack" }, status, h("div", { class: "dialog-list" }, list));
  });
}
