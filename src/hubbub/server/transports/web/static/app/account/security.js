/** User settings: two-factor authentication with a QR code and backup codes, and passkeys. */

import { copyText } from "../ui/clipboard.js";
import { h } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, settingsSection } from "../settings/forms/layout.js";
import { passkeysSection } from "./passkeys.js";
import { codeSetting, currentPasswordSetting } from "./credential_fields.js";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const SECURITY_SCREEN = { id: "security", label: t("Security"), icon: "shield", build };

function build(view) {
  const { state } = view.context;
  const isEnabled = state.me.mfa_enabled;
  view.onChange(({ kind }) => kind === "me" && state.me.mfa_enabled !== isEnabled && view.show(SECURITY_SCREEN.id));
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(
      t("Two-factor authentication"),
      h(
        "p",
        null,
        isEnabled
          ? t("Two-factor authentication is on. You need a code from your authenticator to log in.")
          : t(
              "A code in addition to your password protects your account if the password is stolen. You need an " +
                "authenticator app or a password manager that generates 6-digit codes.",
            ),
      ),
      h(
        "div",
        { class: "row" },
        isEnabled
          ? actionButton(t("Turn off"), () => turnOff(view), {
              isDangerous: true,
              name: t("Turn off two-factor authentication"),
            })
          : h("button", { type: "button", class: "button", onclick: () => setUp(view) }, t("Set up")),
      ),
    ),
    passkeysSection(view),
  );
}

/** Request a new secret and open the page that shows it. */
function setUp(view) {
  return runAndReport(async () => {
    const setup = await view.context.api.request("POST", "/users/@me/mfa/totp/secret");
    view.requestPage(() => showSetup(view, setup));
  });
}

/** Show the page with a secret for the authenticator, and the form that turns on two-factor authentication. */
function showSetup(view, { secret, otpauth_url: url, qr_code: image }) {
  const fields = {
    code: codeSetting(t("The 6-digit code that your authenticator shows.")),
    password: currentPasswordSetting(),
  };
  const turnOn = async event => {
    event.preventDefault();
    const button = event.submitter;
    button.disabled = true;
    for (const field of Object.values(fields)) field.setError(null);
    const json = { secret, code: fields.code.read().replaceAll(" ", ""), password: fields.password.read() };
    try {
      const { backup_codes: codes } = await view.context.api.request("POST", "/users/@me/mfa/totp/enable", { json });
      showBackupCodes(view, codes);
    } catch (error) {
      const invalidNames = Object.keys(fields).filter(name => name in (error.errors ?? {}));
      for (const name of invalidNames.reverse()) fields[name].setError(error.errors[name]._errors[0].message);
      if (!invalidNames.length) showNotice(error.userText ?? t("Something went wrong. Try again."), "problem");
    } finally {
      button.disabled = false;
    }
  };
  view.openPage(
    t("Set up two-factor authentication"),
    SECURITY_SCREEN.label,
    () => view.show(SECURITY_SCREEN.id),
    h(
      "form",
      { class: "settings-form", onsubmit: turnOn },
      settingsSection(
        t("1. Scan this code with your authenticator"),
        qrCodeNode(image),
        h("p", null, t("If you cannot scan it, type this key:")),
        h("code", { class: "secret" }, secret.match(/.{1,4}/g).join(" ")),
        authenticatorLink(url),
      ),
      settingsSection(
        t("2. Enter the code that it shows"),
        fields.code.node,
        fields.password.node,
        h("div", { class: "row" }, h("button", { type: "submit", class: "button" }, t("Turn on"))),
      ),
    ),
  );
}

/** Return the link that opens an authenticator. `h` rejects URLs of this scheme, so the address is set here. */
function authenticatorLink(url) {
  const link = h("a", null, t("Open in an authenticator on this device"));
  if (url.startsWith("otpauth://totp/")) link.setAttribute("href", url);
  return h("p", null, link);
}

/** Return a QR code as an SVG image; `path` is the data of its path element. */
function qrCodeNode({ size, path: data }) {
  const svg = document.createElementNS(SVG_NAMESPACE, "svg");
  svg.setAttribute("viewBox", `0 0 ${Number(size)} ${Number(size)}`);
  svg.setAttribute("class", "qr-code");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", t("QR code with the key below"));
  const path = document.createElementNS(SVG_NAMESPACE, "path");
  path.setAttribute("d", data);
  svg.append(path);
  return svg;
}

function showBackupCodes(view, codes) {
  const copy = () => copyText(codes.join("\n"), t("Backup codes copied."));
  view.openPage(
    t("Save your backup codes"),
    SECURITY_SCREEN.label,
    () => view.show(SECURITY_SCREEN.id),
    h(
      "div",
      { class: "settings-form" },
      h(
        "p",
        null,
        t(
          "Two-factor authentication is on. Each of these codes replaces a code of your authenticator once. " +
            "Save them, because they are not shown again.",
        ),
      ),
      h(
        "ul",
        { class: "backup-codes", "aria-label": t("Backup codes") },
        codes.map(code => h("li", null, h("code", null, code))),
      ),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "button", onclick: copy }, t("Copy")),
        h(
          "button",
          { type: "button", class: "button quiet", onclick: () => view.show(SECURITY_SCREEN.id) },
          t("I saved them"),
        ),
      ),
    ),
  );
}

async function turnOff({ context }) {
  const isDone = await openActionDialog({
    title: t("Turn off two-factor authentication?"),
    text: t("You log in with your password only."),
    label: t("Turn off"),
    fields: { password: currentPasswordSetting(), code: codeSetting(t("From your authenticator, or a backup code.")) },
    run: ({ password, code }) =>
      context.api.request("POST", "/users/@me/mfa/totp/disable", {
        json: { password, code: code.replaceAll(" ", "") },
      }),
  });
  if (isDone) showNotice(t("Two-factor authentication is off."), "done");
}
