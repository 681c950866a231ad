/** User settings: the section with the list of passkeys, and the registration of a new one with the browser. */

import { PASSKEY_NAME_MAX } from "../generated/limits.js";
import { ApiError } from "../network/api.js";
import { h } from "../ui/dom.js";
import { showNotice } from "../ui/notices.js";
import { formatTime } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { textSetting } from "../settings/forms/fields.js";
import { openActionDialog } from "../settings/forms/form.js";
import { actionButton, listEntry, settingsSection } from "../settings/forms/layout.js";
import { liveList } from "../settings/forms/live_list.js";
import { currentPasswordSetting } from "./credential_fields.js";

const PATH = "/users/@me/passkeys";

/** Return why this browser cannot use passkeys here, or null. */
function passkeyObstacle() {
  if (!window.isSecureContext) return t("Passkeys need HTTPS.");
  // Browsers accept no IP address as the domain of a passkey, so such a server cannot offer passkeys.
  if (/^[\d.]+$|:/.test(location.hostname.replaceAll(/[[\]]/g, "")))
    return t("Passkeys need a server with a host name.");
  return window.PublicKeyCredential === undefined ? t("This browser does not support passkeys.") : null;
}

/** Return the section that lists the passkeys of the user, with buttons that add, rename and remove them. */
export function passkeysSection(view) {
  const { api } = view.context;
  const obstacle = passkeyObstacle();
  const list = liveList({
    label: t("Passkeys"),
    emptyText: t("You have no passkeys."),
    fetchItems: () => api.request("GET", PATH),
    describeItem: passkey => passkeyEntry(view, passkey, () => list.refresh()),
  });
  const addPasskey = async () => {
    if (await register(view)) await list.refresh();
  };
  return settingsSection(
    t("Passkeys"),
    h(
      "p",
      null,
      t(
        "Log in with your fingerprint, face, PIN or security key instead of your password and code. A passkey" +
          " cannot be guessed, and works on this site only.",
      ),
    ),
    ...list.nodes,
    h(
      "div",
      { class: "row" },
      actionButton(t("Add passkey"), addPasskey, { denialReason: obstacle }),
      obstacle === null ? null : h("span", { class: "muted small" }, obstacle),
    ),
  );
}

function passkeyEntry({ context, main }, passkey, onChange) {
  const path = `${PATH}/${passkey.id}`;
  const rename = async () => {
    const field = nameSetting();
    field.write(passkey.name);
    const isDone = await openActionDialog({
      title: t("Rename {name}", { name: passkey.name }),
      label: t("Rename"),
      isDangerous: false,
      fields: { name: field },
      run: values => context.api.request("PATCH", path, { json: values }),
    });
    if (isDone) await onChange();
  };
  const deletePasskey = async () => {
    const isDone = await openActionDialog({
      title: t("Remove {name}?", { name: passkey.name }),
      text: t("You can no longer log in with it. Delete it from your device or password manager too."),
      label: t("Remove passkey"),
      fields: { password: currentPasswordSetting() },
      run: values => context.api.request("POST", `${path}/delete`, { json: values }),
    });
    if (!isDone) return;
    await onChange();
    showNotice(t("{name} was removed.", { name: passkey.name }), "done");
    main.focus();
  };
  const addedText = formatTime(passkey.created_at);
  const usage = passkey.last_used_at
    ? t("Added on {added}, last used on {used}", { added: addedText, used: formatTime(passkey.last_used_at) })
    : t("Added on {added}, never used", { added: addedText });
  return {
    key: passkey.id,
    version: JSON.stringify(passkey),
    build: () =>
      listEntry({
        title: passkey.name,
        details: [usage],
        actions: [
          actionButton(t("Rename"), rename, { name: t("Rename {name}", { name: passkey.name }) }),
          actionButton(t("Remove"), deletePasskey, {
            isDangerous: true,
            name: t("Remove {name}", { name: passkey.name }),
          }),
        ],
      }),
  };
}

const nameSetting = () =>
  textSetting(t("Name"), {
    hint: t("For example the device or the password manager."),
    maxlength: PASSKEY_NAME_MAX,
    required: true,
  });

/** Register a passkey. Resolve to whether it was created. */
async function register({ context }) {
  const fields = { name: nameSetting(), password: currentPasswordSetting() };
  const isDone = await openActionDialog({
    title: t("Add passkey"),
    text: t("Your browser asks where to keep the passkey and how to verify you."),
    label: t("Continue"),
    isDangerous: false,
    fields,
    run: async ({ name, password }) => {
      const { ticket, options } = await context.api.request("POST", `${PATH}/challenge`, { json: { password } });
      const credential = await createCredential(options);
      await context.api.request("POST", PATH, { json: { ticket, name, credential } });
    },
  });
  if (isDone) showNotice(t("Passkey added. You can log in with it."), "done");
  return isDone;
}

/**
 * Ask the browser to create a passkey with the options of the API; return it in the format of the API. Throw an
 * ApiError with a text for the user if the browser does not create it.
 */
async function createCredential(options) {
  const excludedCredentials = (options.excludeCredentials ?? []).map(credential => ({
    ...credential,
    id: decodeBase64Url(credential.id),
  }));
  try {
    const credential = /** @type {any} */ (
      await navigator.credentials.create({
        publicKey: {
          ...options,
          challenge: decodeBase64Url(options.challenge),
          user: { ...options.user, id: decodeBase64Url(options.user.id) },
          excludeCredentials: excludedCredentials,
        },
      })
    );
    const { clientDataJSON, attestationObject } = credential.response;
    return {
      id: credential.id,
      rawId: credential.id,
      type: credential.type,
      response: {
        clientDataJSON: encodeBase64Url(clientDataJSON),
        attestationObject: encodeBase64Url(attestationObject),
      },
    };
  } catch (error) {
    const message =
      error.name === "InvalidStateError"
        ? t("This device already has a passkey for your account.")
        : t("The passkey was not created. Try again.");
    throw new ApiError(0, 0, message);
  }
}

/** Return the bytes of a base64url text. */
const decodeBase64Url = text =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), character => character.charCodeAt(0));

/** Return bytes as base64url text without padding. */
const encodeBase64Url = buffer =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
