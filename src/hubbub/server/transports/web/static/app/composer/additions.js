/** The menu of a composer that adds files, a poll or a voice message. */

import { Permissions } from "../network/enums.js";
import { loadModule } from "../ui/lazy_modules.js";
import { openMenu } from "../ui/popups.js";
import { t } from "../ui/translation.js";

/** Open the menu with the additions that the user has the permission for. */
export function openAdditions(composer, anchor) {
  const { context } = composer;
  const can = bits => context.state.can(context.channelId, bits);
  openMenu(anchor, t("Add to message"), [
    can(Permissions.ATTACH_FILES) && {
      label: t("Upload files"),
      icon: "file",
      onClick: () => composer.fileInput.click(),
    },
    can(Permissions.SEND_POLLS) && { label: t("Create a poll"), icon: "list", onClick: () => createPoll(composer) },
    can(Permissions.SEND_VOICE_MESSAGES) &&
      canRecord() && { label: t("Record a voice message"), icon: "microphone", onClick: () => record(composer) },
  ]);
}

const canRecord = () => typeof MediaRecorder === "function" && navigator.mediaDevices !== undefined;

async function createPoll(composer) {
  (await loadModule(() => import("./poll_form.js")))?.openPollForm(composer);
}

async function record(composer) {
  (await loadModule(() => import("./voice_recorder.js")))?.startRecorder(composer);
}
