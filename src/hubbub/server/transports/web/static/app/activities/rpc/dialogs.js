/** Dialogs that activities open. They are always dialogs of the client, above the frame (spec/activities.md#10). */

import { RpcErrorCode } from "../../generated/rpc.js";
import { InviteTargetType, RelationshipType } from "../../generated/enums.js";
import { isPrivate, isMessageable, isVoice, Permissions } from "../../network/enums.js";
import { createMessageNonce } from "../../network/ids.js";
import { openDialog } from "../../ui/dialogs.js";
import { h } from "../../ui/dom.js";
import { showError } from "../../ui/notices.js";
import { createPicker } from "../../ui/picker.js";
import { t, tNodes } from "../../ui/translation.js";
import { appIcon } from "../../content/app_icons.js";
import { channelTitle } from "../../content/avatars.js";
import { cdnPath } from "../../content/cdn_paths.js";
import { RpcError, invalidField } from "./errors.js";

/** Maximum number of channels or friends in a dialog. */
const CHOICES_MAX = 300;
const MESSAGE_LENGTH_MAX = 1500;
/** Hosts whose links open without confirmation after a user gesture, kept while the page is open. */
const trustedHosts = new Set();
let isDialogOpen = false;

/**
 * Open a dialog with a decision. Closing it without a decision resolves to `defaultAnswer`.
 *
 * Throw an RpcError if another dialog is open: an activity must not flood the user.
 *
 * @template T
 * @param {(decide: (answer: T) => void) => any} build
 * @param {T} defaultAnswer
 * @returns {Promise<T>}
 */
function askUser(title, build, defaultAnswer) {
  requireNoDialog();
  isDialogOpen = true;
  return new Promise(resolve => {
    let answer = defaultAnswer;
    const dialog = openDialog(
      title,
      () =>
        h(
          "div",
          { class: "dialog-parts" },
          build(decision => {
            answer = decision;
            dialog.close();
          }),
        ),
      {
        onClose: () => {
          isDialogOpen = false;
          resolve(answer);
        },
      },
    );
  });
}

function requireNoDialog() {
  if (isDialogOpen) throw new RpcError(RpcErrorCode.RATE_LIMITED, "Another dialog is already open");
}

const buttonRow = (...items) => h("div", { class: "modal-foot" }, items);
const button = (label, onClick, style = "button") =>
  h("button", { type: "button", class: style, onclick: onClick }, label);

/** Ask the user to authorize the app. */
export function askConsent({ application, context }, preview) {
  const { state } = context;
  return askUser(
    t("{app} wants to access your account", { app: application.name }),
    decide => [
      h(
        "div",
        { class: "dialog-intro" },
        appIcon(application),
        h(
          "p",
          null,
          tNodes("This allows it, as {name}, to", { name: h("strong", null, state.displayName(preview.user)) }),
        ),
      ),
      h(
        "ul",
        { class: "scopes" },
        preview.scopes.map(scope => h("li", null, h("span", null, scope.description))),
      ),
      h(
        "p",
        { class: "modal-app" },
        t("The app does not see your password. You can revoke its access at any time under Connected apps."),
      ),
      buttonRow(
        button(t("Cancel"), () => decide(false), "button quiet"),
        button(t("Authorize"), () => decide(true)),
      ),
    ],
    false,
  );
}

/**
 * Open an external page in a new window if the user agrees, and return whether they did.
 *
 * The dialog is skipped if the user chose to trust the host, and a user gesture allows the page to open a window.
 */
export async function confirmExternalLink({ application }, url) {
  const { host, origin } = new URL(url);
  const open = () => {
    window.open(url, "_blank", "noopener,noreferrer");
    return true;
  };
  // Browsers block window.open without a user gesture and do not report it.
  if (trustedHosts.has(host) && navigator.userActivation?.isActive) return open();
  const remember = h("input", { type: "checkbox", id: "trust-host" });
  return await askUser(
    t("Open external link?"),
    decide => [
      h("p", null, t("{app} wants to open", { app: application.name })),
      h("p", { class: "dialog-address" }, url),
      origin === location.origin
        ? null
        : h(
            "label",
            { class: "field-option", for: "trust-host" },
            remember,
            h("span", null, t("Do not ask again for {host}", { host })),
          ),
      buttonRow(
        button(t("Cancel"), () => decide(false), "button quiet"),
        button(t("Open link"), () => {
          if (remember.checked) trustedHosts.add(host);
          decide(open());
        }),
      ),
    ],
    false,
  );
}

/** Return the URL that opens the activity, with the current user as the referrer. */
function activityUrl({ application, context }, { customId, linkId }) {
  const url = new URL(`/activities/${application.id}`, context.webUrl);
  if (customId) url.searchParams.set("custom_id", customId);
  if (linkId) url.searchParams.set("link_id", linkId);
  url.searchParams.set("referrer_id", context.me.id);
  return url.href;
}

/**
 * Return at most `CHOICES_MAX` choices of channels where the user can send messages: the activity's channel, private
 * channels and the guild's channels.
 */
function targetChoices({ context }) {
  const { state, channelId, guildId } = context;
  const channels = [
    state.channels.get(channelId),
    ...state.privateChannels(),
    ...(guildId ? state.channelsOf(guildId) : []),
  ]
    .filter((channel, index, all) => channel && all.findIndex(other => other?.id === channel.id) === index)
    .filter(
      channel =>
        isMessageable(channel) &&
        (isPrivate(channel) || state.can(channel.id, Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES)),
    );
  return channels.slice(0, CHOICES_MAX).map(channel => ({
    value: channel.id,
    label: isPrivate(channel) ? channelTitle(channel, state) : `#${channel.name}`,
  }));
}

/**
 * Show a dialog that sends the activity's link to `recipient`. Without a recipient, the user chooses a channel or
 * copies the link.
 *
 * @returns {Promise<{sent: boolean, copied: boolean}>}
 */
export async function showShareDialog(session, { message, customId, linkId, recipient }) {
  const { context, application } = session;
  const url = activityUrl(session, { customId, linkId });
  const messageField = h("textarea", { rows: 3, maxlength: MESSAGE_LENGTH_MAX, "aria-label": t("Message") });
  messageField.value = message;
  const targets = targetChoices(session);
  const targetPicker = recipient
    ? null
    : createPicker({ label: t("Send to"), choices: targets, values: targets.slice(0, 1) });
  return await askUser(
    recipient
      ? t("Invite {name}", { name: context.state.displayName(recipient) })
      : t("Share {app}", { app: application.name }),
    decide => [
      h("div", { class: "dialog-intro" }, appIcon(application), h("p", null, t("Message to send:"))),
      messageField,
      h("p", { class: "dialog-address" }, url),
      targetPicker?.node,
      buttonRow(
        recipient
          ? null
          : button(
              t("Copy link"),
              () => copy(url).then(copied => copied && decide({ sent: false, copied })),
              "button quiet",
            ),
        button(t("Send"), async event => {
          event.currentTarget.disabled = true;
          const isSent = await sendAsUser(
            session,
            recipient,
            targetPicker?.values[0]?.value,
            `${messageField.value}\n${url}`.trim(),
          );
          if (isSent) decide({ sent: isSent, copied: false });
          else event.target.disabled = false;
        }),
      ),
    ],
    { sent: false, copied: false },
  );
}

/** Create an invite to the activity's channel and show it, with buttons that send it to friends. */
export async function showInviteDialog(session) {
  const { context, application } = session;
  // Only invites to voice channels can target an activity.
  const isVoiceChannel = isVoice(context.state.channels.get(context.channelId));
  const json = isVoiceChannel
    ? { target_type: InviteTargetType.EMBEDDED_APPLICATION, target_application_id: application.id }
    : {};
  // An activity must not create invites for which the user sees no dialog.
  requireNoDialog();
  isDialogOpen = true;
  let code;
  try {
    ({ code } = await context.api.request("POST", `/channels/${context.channelId}/invites`, { json }));
  } finally {
    isDialogOpen = false;
  }
  const url = new URL(`/invite/${code}`, context.webUrl).href;
  const friends = [...context.state.relationships.values()]
    .filter(({ type }) => type === RelationshipType.FRIEND)
    .slice(0, CHOICES_MAX);
  await askUser(
    t("Invite people to {app}", { app: application.name }),
    decide => [
      h("p", { class: "dialog-address" }, url),
      button(t("Copy link"), () => copy(url).then(copied => copied && decide(true)), "button quiet"),
      h(
        "ul",
        { class: "dialog-friends" },
        friends.map(({ id, user }) => {
          const recipient = user ?? context.state.user(id) ?? { id };
          const onClick = async event => {
            const pressedButton = event.currentTarget;
            pressedButton.disabled = true;
            const isSent = await sendAsUser(session, recipient, null, url);
            pressedButton.textContent = isSent ? t("Invited") : t("Invite");
            pressedButton.disabled = isSent;
          };
          return h(
            "li",
            null,
            h("span", null, context.state.displayName(recipient)),
            button(t("Invite"), onClick, "button quiet small"),
          );
        }),
      ),
      buttonRow(button(t("Done"), () => decide(true))),
    ],
    false,
  );
}

/**
 * Ask the user to share an image in the activity's channel, and return whether it was sent. Throw an RpcError if the
 * image is not on this server.
 */
export async function showShareImageDialog(session, url) {
  const { context, application } = session;
  const path = cdnPath(url, context.webUrl);
  if (!path) throw invalidField("mediaUrl", "must be an image on this server");
  return await askUser(
    t("Share an image from {app}", { app: application.name }),
    decide => [
      h("img", { class: "dialog-image", src: path, alt: t("Image to share") }),
      buttonRow(
        button(t("Cancel"), () => decide(false), "button quiet"),
        button(t("Share in this channel"), async () => decide(await sendAsUser(session, null, context.channelId, url))),
      ),
    ],
    false,
  );
}

/** Let the user choose an image file; resolve to null if the user cancels. */
export function chooseImage({ application }) {
  const input = h("input", { type: "file", accept: "image/*", "aria-label": t("Image") });
  return askUser(
    t("{app} requests an image", { app: application.name }),
    decide => [
      h("p", null, t("Anyone with the link can view the image for one day.")),
      input,
      buttonRow(
        button(t("Cancel"), () => decide(null), "button quiet"),
        button(t("Upload image"), () => input.files.length && decide(input.files[0])),
      ),
    ],
    null,
  );
}

/**
 * Send a message as the user to `recipient`, or to a channel if there is no recipient. Return whether it was sent.
 *
 * Call it only after the user clicked a button.
 */
async function sendAsUser(session, recipient, channelId, content) {
  const { api } = session.context;
  try {
    const id = recipient
      ? (await api.request("POST", "/users/@me/channels", { json: { recipient_id: recipient.id } })).id
      : channelId;
    if (!id) return false;
    await api.request("POST", `/channels/${id}/messages`, {
      json: { content, nonce: createMessageNonce(), enforce_nonce: true },
    });
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** Copy a text and return whether it was copied; otherwise select it on the page. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard is not available over plain http or without permission: select the URL so that the user can copy it.
    const field = [...document.querySelectorAll(".dialog-address")].find(element => element.textContent === text);
    if (field) window.getSelection()?.selectAllChildren(field);
    return false;
  }
}
