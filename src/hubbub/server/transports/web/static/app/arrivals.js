/** New places: an invite that is followed, a guild that is made, a conversation that is begun. */

import { RelationshipType } from "./enums.js";
import { h, replace } from "./dom.js";
import { faceOf, faceOfGuild } from "./faces.js";
import { attempt, field, openDialog } from "./parts.js";
import { pathOf } from "./router.js";

const CODE = /(?:^|\/invite\/)([A-Za-z0-9-]{2,64})\/?$/;

/** A window to come into a guild by an invite, or to make one. */
export function openArrivals(context) {
  const { api } = context;
  openDialog("Join or make a guild", close => {
    const invite = field("An invite", h("input", { type: "text", placeholder: `${context.web}/invite/…`, autocomplete: "off", autofocus: true }), "The link that you were given, or its last part.");
    const found = h("div", { class: "found" });
    const look = async event => {
      event.preventDefault();
      invite.refuse(null);
      replace(found);
      const code = CODE.exec(invite.input.value.trim())?.[1];
      if (code === undefined) {
        invite.refuse("That is no invite.");
        return;
      }
      try {
        const told = await api.request("GET", `/invites/${code}`, { query: { with_counts: true } });
        replace(found, invitation(context, code, told, close, invite));
        found.querySelector("button").focus();
      } catch (error) {
        invite.refuse(error.status === 404 ? "That invite is gone, or never was." : error.sentence);
      }
    };
    const name = field("Name of a new guild", h("input", { type: "text", maxlength: "100", dir: "auto" }));
    const make = async event => {
      event.preventDefault();
      try {
        const made = await api.request("POST", "/guilds", { json: { name: name.input.value.trim() } });
        close();
        context.go(`/app/channels/${made.id}`);
      } catch (error) {
        name.refuse(error.sentence);
      }
    };
    return [
      h("form", { class: "stack", onsubmit: look }, invite.node, h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, "Look"))),
      found,
      h("hr"),
      h("form", { class: "stack", onsubmit: make }, name.node, h("div", { class: "row end" }, h("button", { type: "submit", class: "button quiet" }, "Make it"))),
    ];
  });
}

function invitation(context, code, told, close, invite) {
  const guild = told.guild;
  const accept = async () => {
    try {
      const accepted = await context.api.request("POST", `/invites/${code}`, { json: {} });
      close();
      const channel = accepted.channel, place = accepted.guild?.id ?? accepted.guild_id;
      context.go(place ? (channel ? `/app/channels/${place}/${channel.id}` : `/app/channels/${place}`) : channel ? pathOf(channel) : "/app");
    } catch (error) {
      invite.refuse(error.sentence);
    }
  };
  const count = told.approximate_member_count;
  return h(
    "div",
    { class: "invitation" },
    guild ? faceOfGuild(guild) : null,
    h("div", { class: "tight" }, h("p", null, h("strong", { dir: "auto" }, guild?.name ?? told.channel?.name ?? "A conversation")), count ? h("p", { class: "soft small" }, `${count} ${count === 1 ? "member" : "members"}`) : null),
    h("button", { type: "button", class: "button", onclick: accept }, "Come in"),
  );
}

/** A window to write to one friend, or to some of them. */
export function openNewConversation(context) {
  const { api, state } = context;
  const begin = async chosen => {
    const json = chosen.length === 1 ? { recipient_id: chosen[0] } : { recipients: chosen };
    const channel = await api.request("POST", "/users/@me/channels", { json });
    if (!state.channels.has(channel.id)) state.apply("CHANNEL_CREATE", channel);
    context.go(pathOf(channel));
  };
  const none = "You have no friends here yet. People of your guilds can be written to from the list of members.";
  chooseFriends(context, "Write to somebody", friendsOf(state), { legend: "One, or several for a group", label: "Begin", none }, begin);
}

/** A window to bring friends into a group. */
export function openAddPeople(context, channel) {
  const { api, state } = context;
  const there = new Set((channel.recipients ?? []).map(each => each.id));
  const add = async chosen => {
    for (const id of chosen) await api.request("PUT", `/channels/${channel.id}/recipients/${id}`, { json: {} });
  };
  const others = friendsOf(state).filter(each => !there.has(each.id));
  chooseFriends(context, "Add people", others, { legend: "Whom to add", label: "Add", none: "All of your friends are here." }, add);
}

const friendsOf = state => [...state.relationships.values()].filter(each => each.type === RelationshipType.FRIEND);

function chooseFriends({ state }, title, friends, { legend, label, none }, act) {
  openDialog(title, close => {
    if (!friends.length) return h("p", { class: "soft" }, none);
    const boxes = friends.map(each => [each.id, h("input", { type: "checkbox" })]);
    const submit = async event => {
      event.preventDefault();
      const chosen = boxes.filter(([, box]) => box.checked).map(([id]) => id);
      if (chosen.length && (await attempt(() => act(chosen)))) close();
    };
    const people = friends.map(({ id, user }, at) => {
      const known = user ?? state.user(id), name = state.nameOf(known, null);
      return h("label", { class: "choice" }, boxes[at][1], faceOf(known, name, state.statusOf(id)), h("span", { dir: "auto" }, name));
    });
    return h("form", { class: "stack", onsubmit: submit }, h("fieldset", { class: "choices" }, h("legend", null, legend), people), h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, label)));
  });
}
