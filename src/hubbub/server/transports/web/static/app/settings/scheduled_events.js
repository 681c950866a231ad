/** Guild settings: scheduled events, in a list and with a page for each. */

import { EventStatus } from "../generated/enums.js";
import { Permissions } from "../network/enums.js";
import { openDialog } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { eventImagePath } from "../content/cdn_paths.js";
import { channelLabel } from "./channel_choices.js";
import { eventDates } from "./event_dates.js";
import { NO_REPETITION, eventBody, eventFields, eventValues, newEventBody, repetitionText } from "./event_fields.js";
import { SettingsForm, openActionDialog } from "./form.js";
import { actionButton, listEntry, settingsSection, statusLine, viewOnlyNotice } from "./layout.js";
import { liveList } from "./live_list.js";

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const EVENTS_SCREEN = { id: "events", label: "Events", icon: "calendar", build };

/** Return why the user cannot change an event, or null. */
function editDenialReason(access, event) {
  const isOwn = event.creator_id === access.me.id;
  const bits = isOwn && !access.has(Permissions.MANAGE_EVENTS) ? Permissions.CREATE_EVENTS : Permissions.MANAGE_EVENTS;
  return event.channel_id ? access.channelDenialReason(bits, event.channel_id) : access.findDenialReason(bits);
}

const eventsPath = ({ guildId }) => `/guilds/${guildId}/scheduled-events`;

function build(view, focusedId = null) {
  const { context } = view;
  const notice = h("div", { class: "settings-access" });
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => add() },
    icon("plus"),
    "Create event",
  );
  const open = event => view.requestPage(() => openEvent(view, event, id => showList(view, id)));
  const list = liveList({
    label: "Events",
    emptyText: "No events are scheduled. Create one to invite members to a time and place.",
    fetch: () => context.api.request("GET", eventsPath(view), { query: { with_user_count: true } }),
    entry: event => eventEntry(view, event, open),
  });
  const add = async () => {
    const event = await openCreation(view);
    if (event === null) return;
    showNotice(`${event.name} was created.`, "done");
    await list.load();
    list.focus(event.id);
  };
  const draw = () => {
    const denialReason = view.access.findDenialReason(Permissions.CREATE_EVENTS);
    createButton.disabled = denialReason !== null;
    const isLocked = denialReason !== null && !view.access.has(Permissions.MANAGE_EVENTS);
    setChildren(
      notice,
      isLocked
        ? viewOnlyNotice(denialReason)
        : denialReason && h("p", { class: "hint" }, `To create events: ${denialReason}`),
    );
    list.draw();
  };
  view.onChange(({ kind }) => {
    draw();
    if (kind === "scheduledEvents") list.loadSoon();
  });
  draw();
  if (focusedId !== null) list.loaded.then(() => list.focus(focusedId) || createButton.focus());
  return [notice, h("div", { class: "settings-tools" }, createButton), ...list.nodes];
}

function showList(view, focusedId) {
  view.setContent(EVENTS_SCREEN.label, build(view, focusedId));
}

/** Return the text with the place of an event, or null. */
function placeText({ state }, event) {
  if (!event.channel_id) return event.entity_metadata?.location ?? null;
  return state.channels.has(event.channel_id) ? channelLabel(state.channels.get(event.channel_id)) : "a hidden channel";
}

/** Return the node with the start and end of an event. */
function timeNode(event) {
  const end = event.scheduled_end_time;
  return h(
    "span",
    null,
    timeElement(Date.parse(event.scheduled_start_time), "f"),
    end ? [" to ", timeElement(Date.parse(end), "f")] : null,
  );
}

function eventEntry(view, event, open) {
  const denialReason = editDenialReason(view.access, event),
    place = placeText(view.context, event),
    creator = event.creator?.global_name || event.creator?.username,
    label = denialReason === null ? "Edit" : "View";
  return {
    key: event.id,
    version: JSON.stringify([event, denialReason, place]),
    build: () => {
      const button = actionButton(label, () => open(event), { name: `${label} ${event.name}` });
      button.dataset.focus = "edit";
      return listEntry({
        mark: event.image
          ? h("img", { class: "event-image", src: eventImagePath(event), alt: "", loading: "lazy" })
          : h("span", { class: "event-image" }, icon("calendar")),
        title: [event.name, event.status === EventStatus.ACTIVE ? h("span", { class: "tag" }, "Now") : null],
        details: [
          timeNode(event),
          [place, repetitionText(event)].filter(Boolean).join(" · "),
          [`${event.user_count ?? 0} interested`, creator && `created by ${creator}`].filter(Boolean).join(" · "),
        ],
        actions: [button],
      });
    },
  };
}

/** Open the dialog that creates an event. Resolve to the event, or null. */
async function openCreation(view) {
  // The fields need an event for previews of images; this one stands for the event that does not exist yet.
  const fields = eventFields(view, { id: "0" });
  for (const field of [fields.channel_id, fields.entity_metadata, fields.image]) field.write(null);
  fields.recurrence_rule.write(NO_REPETITION);
  let created = null;
  await openActionDialog({
    title: "Create event",
    label: "Create",
    danger: false,
    fields,
    run: async values => {
      created = await view.context.api.request("POST", eventsPath(view), { json: newEventBody(view, values) });
    },
  });
  return created;
}

/** Actions on an event by its status; `status` is the next status and `text` the text of the dialog. */
const TRANSITIONS = new Map([
  [
    EventStatus.SCHEDULED,
    [
      {
        label: "Start now",
        status: EventStatus.ACTIVE,
        text: "Members see that the event takes place now.",
        danger: false,
      },
      {
        label: "Cancel event",
        status: EventStatus.CANCELED,
        text: "Interested members no longer see it. This cannot be undone.",
        danger: true,
      },
    ],
  ],
  [
    EventStatus.ACTIVE,
    [
      {
        label: "End event",
        status: EventStatus.COMPLETED,
        text: "The event is over. This cannot be undone.",
        danger: true,
      },
    ],
  ],
]);

/** Show the page of an event; `goBack` shows the list again. */
function openEvent(view, event, goBack) {
  const { context } = view,
    path = `${eventsPath(view)}/${event.id}`;
  let current = event,
    isEndedHere = false;
  const fields = eventFields(view, event);
  const notice = h("div", { class: "settings-access" }),
    actions = h("div", { class: "row" });
  const dates = eventDates(view, path, () => reload());
  const readAll = () => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.read()]));
  const form = new SettingsForm(fields, eventValues(event), {
    save: async changes => {
      current = await context.api.request("PATCH", path, { json: eventBody(view, changes, readAll()) });
      view.setTitle(current.name);
      draw();
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
    isEndedHere = true;
    try {
      return await request();
    } catch (error) {
      isEndedHere = false;
      // Load the updates that were ignored during the request.
      reload();
      throw error;
    }
  };
  const change = async ({ label, status, text, danger }) => {
    const isEnd = status !== EventStatus.ACTIVE;
    const patch = () => context.api.request("PATCH", path, { json: { status } });
    const isDone = await openActionDialog({
      title: `${label}?`,
      text,
      label,
      danger,
      run: async () => {
        current = await (isEnd ? end(patch) : patch());
      },
    });
    if (!isDone) return;
    if (isEnd) leave(status === EventStatus.CANCELED ? `${current.name} was canceled.` : `${current.name} has ended.`);
    else draw();
  };
  const remove = async () => {
    const isDone = await openActionDialog({
      title: `Delete ${current.name}?`,
      text: "Members no longer see the event. This cannot be undone.",
      label: "Delete event",
      run: () => end(() => context.api.request("DELETE", path)),
    });
    if (isDone) leave(`${current.name} was deleted.`);
  };
  const draw = () => {
    const denialReason = editDenialReason(view.access, current);
    setChildren(notice, denialReason === null ? null : viewOnlyNotice(denialReason));
    for (const field of Object.values(fields)) field.setDisabled(denialReason !== null);
    dates.draw(current, denialReason);
    setChildren(
      actions,
      actionButton("Show interested members", () => openInterested(view, current)),
      (TRANSITIONS.get(current.status) ?? []).map(transition =>
        actionButton(transition.label, () => change(transition), { danger: transition.danger, denialReason }),
      ),
      actionButton("Delete event", remove, { danger: true, denialReason }),
    );
  };
  const reload = () =>
    runAndReport(async () => {
      const found = await context.api.request("GET", eventsPath(view));
      if (!notice.isConnected || isEndedHere) return;
      const changed = found.find(({ id }) => id === event.id);
      if (changed === undefined) {
        goBack(event.id);
        showNotice(`${current.name} was ended or deleted by someone else.`);
        return;
      }
      current = changed;
      view.setTitle(current.name);
      form.load(eventValues(current));
      draw();
    });
  view.onChange(({ kind, id }) => {
    if (kind !== "scheduledEvents") draw();
    else if (id === event.id) reload();
  });
  draw();
  const nodes = names => names.map(name => fields[name].node);
  view.openPage(event.name, "All events", () => goBack(event.id), [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection("Event", nodes(["name", "description", "image"])),
      settingsSection("Place", nodes(["channel_id", "entity_metadata"])),
      settingsSection("Time", nodes(["scheduled_start_time", "scheduled_end_time", "recurrence_rule"])),
      dates.node,
      settingsSection("Actions", actions),
    ),
  ]);
}

/** Open the dialog with the members who are interested in an event. */
function openInterested(view, event) {
  openDialog(`Interested in ${event.name}`, () => {
    const status = statusLine("Loading…");
    const list = h("ul", { class: "settings-list", "aria-label": "Interested members" });
    runAndReport(async () => {
      const users = await view.context.api.request("GET", `${eventsPath(view)}/${event.id}/users`, {
        query: { with_member: true },
      });
      status.textContent = users.length ? "" : "No member is interested yet.";
      setChildren(
        list,
        users.map(({ user, member }) => {
          const name = member?.nick || user.global_name || user.username;
          return listEntry({ mark: userAvatar(user, name), title: name, details: [`@${user.username}`] });
        }),
      );
    });
    return h("div", { class: "stack" }, status, h("div", { class: "dialog-list" }, list));
  });
}
