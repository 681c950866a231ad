/** User settings: username, email address, password, download of the user's data, and deletion of the account. */

import { PASSWORD_MAX, PASSWORD_MIN, USERNAME_MAX } from "../generated/limits.js";
import { h } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { textSetting } from "../settings/forms/fields.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, listEntry, settingsSection } from "../settings/forms/layout.js";
import { loadAndShow } from "../settings/forms/content_loader.js";
import { currentPasswordSetting } from "./credential_fields.js";
import { openDeletion } from "./deletion.js";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const ACCOUNT_SCREEN = { id: "account", label: t("Account"), icon: "key", build };

function build(view) {
  return loadAndShow(
    view,
    ACCOUNT_SCREEN.label,
    () => view.context.api.request("GET", "/users/@me/email"),
    emailSettings => buildContent(view, emailSettings),
  );
}

/** Return the content of the screen; `emailSettings` is the response of `GET /users/@me/email`. */
function buildContent(view, emailSettings) {
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
      t("Login"),
      h(
        "ul",
        { class: "settings-list" },
        listEntry({
          title: t("Username"),
          details: [`@${me.username}`],
          actions: [actionButton(t("Change"), () => changeUsername(view), { name: t("Change username") })],
        }),
        listEntry({
          title: t("Email address"),
          details: emailDetails(emailSettings),
          actions: [
            emailSettings.mail_enabled &&
            (emailSettings.pending_email || (emailSettings.email && !emailSettings.verified))
              ? actionButton(t("Send link again"), () => resend(view))
              : null,
            actionButton(emailSettings.email ? t("Change") : t("Add"), () => changeEmail(view), {
              name: emailSettings.email ? t("Change email address") : t("Add email address"),
            }),
          ].filter(Boolean),
        }),
        listEntry({
          title: t("Password"),
          details: [t("Changing it logs you out of all other sessions.")],
          actions: [actionButton(t("Change"), () => changePassword(view), { name: t("Change password") })],
        }),
      ),
    ),
    settingsSection(
      t("Your data"),
      h(
        "ul",
        { class: "settings-list" },
        listEntry({
          title: t("Copy of your data"),
          details: [t("A file with your profile, sessions, apps, guilds and messages.")],
          actions: [
            h("a", { class: "button small quiet", href: "/settings/account/export", download: true }, t("Download")),
          ],
        }),
        listEntry({
          title: t("Delete account"),
          details: [t("This is permanent. Your messages stay, without your name.")],
          actions: [
            actionButton(
              t("Delete account"),
              () => view.requestPage(() => openDeletion(view, () => view.show("account"))),
              {
                isDangerous: true,
              },
            ),
          ],
        }),
      ),
    ),
  );
}

/** Return the texts about the email address. Whether the address is confirmed is shown only if the server can send mail. */
function emailDetails({ email, verified, pending_email: pending, mail_enabled: canConfirm }) {
  if (!email && !pending)
    return [t("Your account has no email address. Add one so that you can reset a forgotten password.")];
  const state = !canConfirm ? null : verified ? t("Confirmed") : t("Not confirmed");
  return [
    email ? [email, state].filter(Boolean).join(" · ") : null,
    pending
      ? t("{email} becomes your email address when you open the link that was sent there.", { email: pending })
      : null,
  ];
}

async function changeUsername(view) {
  const { api, state } = view.context;
  const field = textSetting(t("Username"), {
    hint: t("Letters, digits, dots and underscores. You can change it twice an hour."),
    autocomplete: "username",
    maxlength: USERNAME_MAX,
    required: true,
  });
  field.write(state.me.username);
  const isDone = await openActionDialog({
    title: t("Change username"),
    label: t("Change username"),
    isDangerous: false,
    fields: { username: field },
    run: async values => state.apply("USER_UPDATE", await api.request("PATCH", "/users/@me", { json: values })),
  });
  if (isDone) showNotice(t("Your username is {name}.", { name: state.me.username }), "done");
}

async function changeEmail(view) {
  const { api } = view.context;
  let emailSettings = null;
  const isDone = await openActionDialog({
    title: t("Change email address"),
    text: t("It is used to reset a forgotten password and for security notices."),
    label: t("Change email address"),
    isDangerous: false,
    fields: {
      email: textSetting(t("New email address"), { type: "email", autocomplete: "email", required: true }),
      password: currentPasswordSetting(),
    },
    run: async values => {
      emailSettings = await api.request("POST", "/users/@me/email", { json: values });
    },
  });
  if (!isDone) return;
  view.show(ACCOUNT_SCREEN.id);
  view.main.focus();
  const { pending_email: pending } = emailSettings;
  showNotice(
    pending ? t("Open the link that was sent to {email}.", { email: pending }) : t("Email address changed."),
    "done",
  );
}

const resend = ({ context }) =>
  runAndReport(async () => {
    await context.api.request("POST", "/auth/verify/resend");
    showNotice(t("The link was sent again."), "done");
  });

async function changePassword({ context }) {
  const isDone = await openActionDialog({
    title: t("Change password"),
    text: t("All your other sessions are logged out."),
    label: t("Change password"),
    isDangerous: false,
    fields: {
      password: currentPasswordSetting(),
      new_password: textSetting(t("New password"), {
        type: "password",
        hint: t("At least {min} characters.", { min: PASSWORD_MIN }),
        autocomplete: "new-password",
        required: true,
        minlength: PASSWORD_MIN,
        maxlength: PASSWORD_MAX,
      }),
    },
    run: values => context.api.request("POST", "/auth/password", { json: values }),
  });
  if (isDone) showNotice(t("Password changed. All your other sessions were logged out."), "done");
}
