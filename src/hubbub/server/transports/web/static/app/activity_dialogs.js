/** What activities ask a person: always by a window of ours, over the frame, in our words (activities.md 10). */

import { mark } from "./app_marks.js";
import { h } from "./dom.js";
import { titleOf } from "./faces.js";
import { isPrivate, isSpokenIn, isVoice, Permissions } from "./enums.js";
import { newNonce } from "./ids.js";
import { ownPath } from "./media.js";
import { noticeOf } from "./notices.js";
import { openDialog } from "./parts.js";
import { picker } from "./picker.js";
import { RpcError, RpcErrorCode, misfit } from "./rpc_errors.js";

const EMBEDDED_APPLICATION = 2;
const SEEN = 300;
const trusted = new Set();
let busy = false;

/**
 * A window with something to decide; what closes it otherwise is a no. One at a time: an activity could else bury the person in them.
 * @template T
 * @param {(decide: (answer: T) => void) => any} build
 * @param {T} otherwise
 * @returns {Promise<T>}
 */
function ask(title, build, otherwise) {
  if (busy) throw new RpcError(RpcErrorCode.RATE_LIMITED, "The person is being asked something already");
  busy = true;
  return new Promise(resolve => {
    let answer = otherwise;
    const box = openDialog(
      title,
      () => h("div", { class: "dialog-parts" }, build(given => {
        answer = given;
        box.close();
      })),
      { closed: () => { busy = false; resolve(answer); } },
    );
  });
}

const buttons = (...made) => h("div", { class: "modal-foot" }, made);
const button = (label, press, kind = "button") => h("button", { type: "button", class: kind, onclick: press }, label);

/** Whether the person lets the app in, for what it asks. */
export function askConsent({ application, context }, preview) {
  const { state } = context;
  return ask(
    `${application.name} would like to come in`,
    decide => [
      h("div", { class: "dialog-who" }, mark(application), h("p", null, "As ", h("strong", null, state.nameOf(preview.user)), ", it wants to")),
      h("ul", { class: "scopes" }, preview.scopes.map(each => h("li", null, h("span", null, each.description)))),
      h("p", { class: "modal-app" }, "It never learns your password, and you can send it away at any time under Connected apps."),
      buttons(button("No, thanks", () => decide(false), "button quiet"), button("Let it in", () => decide(true))),
    ],
    false,
  );
}

/** Show a page of somebody else in a window of its own, if the person wants that. */
export async function leaveFor({ application }, url) {
  const { host, origin } = new URL(url);
  const open = () => {
    window.open(url, "_blank", "noopener,noreferrer");
    return true;
  };
  // A browser opens windows for people, not for pages; without a press it may refuse, and cannot tell us.
  if (trusted.has(host) && navigator.userActivation?.isActive) return open();
  const remember = h("input", { type: "checkbox", id: "trust-host" });
  return await ask(
    "Leave for another page?",
    decide => [
      h("p", null, `${application.name} wants to open`),
      h("p", { class: "dialog-address" }, url),
      origin === location.origin ? null : h("label", { class: "field-option", for: "trust-host" }, remember, h("span", null, `Do not ask again for ${host}`)),
      buttons(
        button("Stay", () => decide(false), "button quiet"),
        button("Open it", () => {
          if (remember.checked) trusted.add(host);
          decide(open());
        }),
      ),
    ],
    false,
  );
}

/** The link that leads others to the activity. */
function linkTo({ application, context }, { customId, linkId }) {
  const url = new URL(`/activities/${application.id}`, context.web);
  if (customId) url.searchParams.set("custom_id", customId);
  if (linkId) url.searchParams.set("link_id", linkId);
  url.searchParams.set("referrer_id", context.me.id);
  return url.href;
}

/** Where the person can say something: here, to friends, in the channels of this guild. */
function places({ context }) {
  const { state, channelId, guildId } = context;
  const open = [state.channels.get(channelId), ...state.privateChannels(), ...(guildId ? state.channelsOf(guildId) : [])]
    .filter((each, index, all) => each && all.findIndex(other => other?.id === each.id) === index)
    .filter(each => isSpokenIn(each) && (isPrivate(each) || state.can(each.id, Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES)));
  return open.slice(0, SEEN).map(each => ({ value: each.id, label: isPrivate(each) ? titleOf(each, state) : `#${each.name}` }));
}

/**
 * Share the activity: send its link somewhere, or copy it.
 * @returns {Promise<{sent: boolean, copied: boolean}>}
 */
export async function shareDialog(desk, { message, customId, linkId, to }) {
  const { context, application } = desk;
  const address = linkTo(desk, { customId, linkId });
  const words = h("textarea", { rows: 3, maxlength: 1500, "aria-label": "Message" });
  words.value = message;
  const offered = places(desk);
  const where = to ? null : picker({ label: "Send it to", choices: offered, values: offered.slice(0, 1) });
  return await ask(
    to ? `Invite ${context.state.nameOf(to)}` : `Share ${application.name}`,
    decide => [
      h("div", { class: "dialog-who" }, mark(application), h("p", null, to ? "They get a message from you:" : "Your message:")),
      words,
      h("p", { class: "dialog-address" }, address),
      where?.node,
      buttons(
        to ? null : button("Copy the link", () => copy(address).then(copied => copied && decide({ sent: false, copied })), "button quiet"),
        button("Send", async event => {
          event.currentTarget.disabled = true;
          const sent = await say(desk, to, where?.values[0]?.value, `${words.value}\n${address}`.trim());
          if (sent) decide({ sent, copied: false });
          else event.target.disabled = false;
        }),
      ),
    ],
    { sent: false, copied: false },
  );
}

/** Invite people to the activity's channel. */
export async function inviteDialog(desk) {
  const { context, application } = desk;
  // Only invites into voice channels name an activity; others lead to where it is played.
  const voice = isVoice(context.state.channels.get(context.channelId));
  const json = voice ? { target_type: EMBEDDED_APPLICATION, target_application_id: application.id } : {};
  const { code } = await context.api.request("POST", `/channels/${context.channelId}/invites`, { json });
  const address = new URL(`/invite/${code}`, context.web).href;
  const friends = [...context.state.relationships.values()].filter(({ type }) => type === 1).slice(0, SEEN);
  await ask(
    `Invite people to ${application.name}`,
    decide => [
      h("p", { class: "dialog-address" }, address),
      button("Copy the link", () => copy(address).then(copied => copied && decide(true)), "button quiet"),
      h(
        "ul",
        { class: "dialog-people" },
        friends.map(({ id, user }) => {
          const somebody = user ?? context.state.user(id) ?? { id };
          const press = async event => {
            const pressed = event.currentTarget;
            pressed.disabled = true;
            pressed.textContent = (await say(desk, somebody, null, address)) ? "Invited" : "Invite";
            pressed.disabled = pressed.textContent === "Invited";
          };
          return h("li", null, h("span", null, context.state.nameOf(somebody)), button("Invite", press, "button quiet small"));
        }),
      ),
      buttons(button("Done", () => decide(true))),
    ],
    false,
  );
}

/** Show a picture of the activity in its channel, if the person wants that. */
export async function shareMoment(desk, url) {
  const { context, application } = desk;
  const path = ownPath(url, context.web);
  if (!path) throw misfit("mediaUrl", "must be a picture that the platform serves");
  return await ask(
    `Share a moment of ${application.name}`,
    decide => [
      h("img", { class: "dialog-moment", src: path, alt: "The picture to share" }),
      buttons(
        button("Keep it", () => decide(false), "button quiet"),
        button("Share it here", async () => decide(await say(desk, null, context.channelId, url))),
      ),
    ],
    false,
  );
}

/** A picture of the person's choice. */
export function chooseImage({ application }) {
  const input = h("input", { type: "file", accept: "image/*", "aria-label": "Picture" });
  return ask(
    `${application.name} asks for a picture`,
    decide => [
      h("p", null, "Whoever has its address can see it for a day."),
      input,
      buttons(button("No, thanks", () => decide(null), "button quiet"), button("Give it this picture", () => input.files.length && decide(input.files[0]))),
    ],
    null,
  );
}

/** Say something as the person, who pressed a button of ours. */
async function say(desk, to, channelId, content) {
  const { api } = desk.context;
  try {
    const id = to ? (await api.request("POST", "/users/@me/channels", { json: { recipient_id: to.id } })).id : channelId;
    if (!id) return false;
    await api.request("POST", `/channels/${id}/messages`, { json: { content, nonce: newNonce(), enforce_nonce: true } });
    return true;
  } catch (error) {
    noticeOf(error);
    return false;
  }
}

async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    // Not over plain http, and not where the person forbids it: the address stands there to be marked and copied.
    const field = [...document.querySelectorAll(".dialog-address")].find(each => each.textContent === words);
    if (field) window.getSelection()?.selectAllChildren(field);
    return false;
  }
}
