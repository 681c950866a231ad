/** The users who can use an invite: a field for their IDs, and the dialog of an existing invite. */

import { TARGET_USERS_FILE_BYTES_MAX, TARGET_USERS_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { formField } from "../../ui/controls.js";
import { h } from "../../ui/dom.js";
import { formatByteLimit } from "../../ui/byte_sizes.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t, tn } from "../../ui/translation.js";
import { openActionDialog } from "../forms/form.js";
import { fileSizeError } from "../forms/upload_field.js";

/** First line of the CSV file. */
const HEADER = "user_id";
const USERS_HINT = tn(
  "Optional. User IDs, one per line, at most {count}; or a CSV file of at most {size}.",
  "Optional. User IDs, one per line, at most {count}; or a CSV file of at most {size}.",
  TARGET_USERS_MAX,
  { size: formatByteLimit(TARGET_USERS_FILE_BYTES_MAX) },
);

/** Return the file that the API takes, from a text with one user ID per line. */
export const targetUsersFile = text => new File([`${HEADER}\n${text}\n`], "users.csv", { type: "text/csv" });

/**
 * Return a field whose value is a text with one user ID per line, typed or read from a file; null if it is empty.
 *
 * @returns {import("../forms/fields.js").SettingsField}
 */
export function targetUsersSetting(label) {
  const area = h("textarea", { rows: "3", inputmode: "numeric", spellcheck: "false", autocomplete: "off" });
  const field = formField(label, area, USERS_HINT);
  const input = h("input", {
    type: "file",
    accept: ".csv,.txt,text/csv,text/plain",
    class: "visually-hidden",
    tabindex: "-1",
    "aria-label": t("File with user IDs"),
  });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (file === undefined) return;
    const error = fileSizeError(file, TARGET_USERS_FILE_BYTES_MAX);
    field.setError(error);
    if (error === null) area.value = withoutHeader(await file.text());
    input.value = "";
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const chooseButton = h(
    "button",
    { type: "button", class: "button small quiet", onclick: () => input.click() },
    t("Choose file"),
  );
  field.node.append(h("div", { class: "row" }, chooseButton, input));
  return {
    node: field.node,
    read: () => area.value.trim() || null,
    write(text) {
      area.value = text ?? "";
    },
    setError: field.setError,
    setDisabled(disabled) {
      for (const control of [area, input, chooseButton]) control.disabled = disabled;
    },
  };
}

/** Return the text of a file without its byte order mark and its header line. */
function withoutHeader(text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  if (lines.length && !/^["\s]*\d/.test(lines[0])) lines.shift();
  return lines.join("\n").trim();
}

/** Return why the user cannot change the users of an invite, or null. */
function changeDenialReason(access, invite) {
  return invite.inviter?.id === access.me.id ? null : access.findDenialReason(Permissions.MANAGE_GUILD);
}

/** Open the dialog with the users who can use an invite. */
export function openTargetUsers(view, invite) {
  return runAndReport(async () => {
    const { context, access } = view,
      path = `/invites/${invite.code}/target-users`;
    const text = await fetchTargets(context, path);
    const denialReason = changeDenialReason(access, invite);
    const users = targetUsersSetting(t("Only for these users"));
    users.write(text);
    users.setDisabled(denialReason !== null);
    const count = text === null ? 0 : text.split("\n").length;
    const isDone = await openActionDialog({
      title: t("Users of {code}", { code: invite.code }),
      text: [
        count === 0
          ? t("Everyone with the link can use it.")
          : tn("Only {count} user can use it.", "Only {count} users can use it.", count),
        denialReason === null ? null : ` ${denialReason}`,
      ],
      label: t("Save"),
      isDangerous: false,
      isLocked: denialReason !== null,
      fields: { target_users_file: users },
      run: ({ target_users_file: changed }) =>
        context.api.request("PUT", path, {
          form: changed === null ? {} : { target_users_file: targetUsersFile(changed) },
        }),
    });
    if (isDone) showNotice(t("Changes saved."), "done");
  });
}

/** Return the IDs of the users who can use an invite, one per line; null if everyone can use it. */
async function fetchTargets({ api }, path) {
  try {
    return withoutHeader(await api.request("GET", path, { isText: true }));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}
