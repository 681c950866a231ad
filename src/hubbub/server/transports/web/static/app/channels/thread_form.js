/** The form that creates a thread. */

import { CHANNEL_NAME_MAX } from "../generated/limits.js";
import { ChannelType, Permissions } from "../network/enums.js";
import { messageErrorText } from "../state/outbox.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { channelPath } from "../ui/router.js";
import { t } from "../ui/translation.js";

/** Open the form that creates a thread from a message, or without a message if it is null. */
export function openThreadForm(context, message) {
  const { api, state, channelId } = context;
  openDialog(t("New thread"), close => {
    const name = formField(
      t("Name"),
      h("input", { type: "text", maxlength: CHANNEL_NAME_MAX, required: true, dir: "auto", autofocus: true }),
    );
    const canBePrivate = message === null && state.can(channelId, Permissions.CREATE_PRIVATE_THREADS);
    const privateCheckbox = canBePrivate ? h("input", { type: "checkbox" }) : null;
    const create = async event => {
      event.preventDefault();
      name.setError(null);
      const json = { name: name.input.value.trim() };
      if (message === null)
        json.type = privateCheckbox?.checked ? ChannelType.PRIVATE_THREAD : ChannelType.PUBLIC_THREAD;
      const path =
        message === null ? `/channels/${channelId}/threads` : `/channels/${channelId}/messages/${message.id}/threads`;
      try {
        const thread = await api.request("POST", path, { json });
        state.apply("THREAD_CREATE", thread);
        close();
        context.go(channelPath(thread));
      } catch (error) {
        name.setError(messageErrorText(error));
      }
    };
    return h(
      "form",
      { class: "stack", onsubmit: create },
      name.node,
      privateCheckbox
        ? h("label", { class: "choice" }, privateCheckbox, t("Private: only invited members can see it"))
        : null,
      h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, t("Create thread"))),
    );
  });
}
