/** User settings: username, email address, password, download of the user's data, and deletion of the account. */

import { PASSWORD_MAX, PASSWORD_MIN, USERNAME_MAX } from "../generated/limits.js";
import { h } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { textSetting } from "../settings/fields.js";
import { openActionDialog } from "../settings/form.js";
import { actionButton, listEntry, settingsSection } from "../settings/layout.js";
import { loadContent } from "../settings/content_loader.js";
import { currentPasswordSetting } from "./credential_fields.js";
import { openDeletion } from "./deletion.js";

/** @type {import("../settings/settings_dialog.js").SettingsScreen} */
export const ACCOUNT_SCREEN = { id: "account", label: "Account", icon: "key", build };

function build(view) {
  return loadContent(
    view,
    ACCOUNT_SCREEN.label,
    () => view.context.api.request("GET", "/users/@me/email"),
    email => buildContent(view, email),
  );
}

/** Return the content of the screen; `email` is the state of the email address. */
function buildContent(view, email) {
  const { state } = view.context;
  const { me } = state;
  view.onChange(({ kind }) => {
    const isChanged =
      state.me.username !== me.username || state.me.email !== me.email || state.me.verified !== me.verified;
    if (kind === "me" && isChanged) view.show(ACCOUNT_SCREEN.id);
  });
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(
      "Login",
      h(
        "ul",
        { class: "settings-list" },
        listEntry({
          title: "Username",
          details: [`@${me.username}`],
          actions: [actionButton("Change", () => changeUsername(view), { name: "Change username" })],
        }),
        listEntry({
          title: "Email address",
          details: emailDetails(email),
          actions: [
            email.mail_enabled && (email.pending_email || (email.email && !email.verified))
              ? actionButton("Send link again", () => resend(view))
              : null,
            actionButton(email.email ? "Change" : "Add", () => changeEmail(view), { name: "Change email address" }),
          ].filter(Boolean),
        }),
        listEntry({
          title: "Password",
          details: ["Changing it logs you out of all other sessions."],
          actions: [actionButton("Change", () => changePassword(view), { name: "Change password" })],
        }),
      ),
    ),
    settingsSection(
      "Your data",
      h(
        "ul",
        { class: "settings-list" },
        listEntry({
          title: "Copy of your data",
          details: ["A file with your profile, sessions, apps, guilds and messages."],
          actions: [
            h("a", { class: "button small quiet", href: "/settings/account/export", download: true }, "Download"),
          ],
        }),
        listEntry({
          title: "Delete account",
          details: ["This is permanent. Your messages stay, without your name."],
          actions: [
            actionButton(
              "Delete account",
              () => view.requestPage(() => openDeletion(view, () => view.show("account"))),
              {
                danger: true,
              },
            ),
          ],
        }),
      ),
    ),
  );
}

/** Return the texts about the email address. Its state is shown only if the server can send mail to confirm it. */
function emailDetails({ email, verified, pending_email: pending, mail_enabled: canConfirm }) {
  if (!email && !pending) return ["Your account has no email address. It is needed to reset a forgotten password."];
  const state = !canConfirm ? "" : verified ? " · Confirmed" : " · Not confirmed";
  return [
    email ? `${email}${state}` : null,
    pending ? `${pending} replaces it when you open the link in the mail that was sent there.` : null,
  ];
}

async function changeUsername(view) {
  const { api, state } = view.context;
  const field = textSetting("Username", {
    hint: "Letters, digits, dots and underscores. You can change it twice an hour.",
    autocomplete: "username",
    maxlength: USERNAME_MAX,
    required: true,
  });
  field.write(state.me.username);
  const isDone = await openActionDialog({
    title: "Change username",
    label: "Change username",
    danger: false,
    fields: { username: field },
    run: async values => state.apply("USER_UPDATE", await api.request("PATCH", "/users/@me", { json: values })),
  });
  if (isDone) showNotice(`Your username is ${state.me.username}.`, "done");
}

async function changeEmail(view) {
  const { api } = view.context;
  let stored = null;
  const isDone = await openActionDialog({
    title: "Change email address",
    text: "It resets a forgotten password and receives security notices.",
    label: "Change email address",
    danger: false,
    fields: {
      email: textSetting("New email address", { type: "email", autocomplete: "email", required: true }),
      password: currentPasswordSetting(),
    },
    run: async values => {
      stored = await api.request("POST", "/users/@me/email", { json: values });
    },
  });
  if (!isDone) return;
  view.show(ACCOUNT_SCREEN.id);
  view.main.focus();
  const { pending_email: pending } = stored;
  showNotice(pending ? `Open the link that was sent to ${pending}.` : "Email address changed.", "done");
}

const resend = ({ context }) =>
  runAndReport(async () => {
    await context.api.request("POST", "/auth/verify/resend");
    showNotice("The link was sent again.", "done");
  });

async function changePassword({ context }) {
  const isDone = await openActionDialog({
    title: "Change password",
    text: "All your other sessions are logged out.",
    label: "Change password",
    danger: false,
    fields: {
      password: currentPasswordSetting(),
      new_password: textSetting("New password", {
        type: "password",
        hint: `At least ${PASSWORD_MIN} characters.`,
        autocomplete: "new-password",
        required: true,
        minlength: PASSWORD_MIN,
        maxlength: PASSWORD_MAX,
      }),
    },
    run: values => context.api.request("POST", "/auth/password", { json: values }),
  });
  if (isDone) showNotice("Password changed. All your other sessions were logged out.", "done");
}
