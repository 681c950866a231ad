/** The menu entries that report a message, a user or a guild. */

import { loadModule } from "../ui/lazy_modules.js";
import { t } from "../ui/translation.js";

/**
 * Return the menu entry that reports an object to the operators of the server.
 *
 * @param {any} context
 * @param {{kind: "message" | "user" | "guild", id: string, channel_id?: string}} target
 */
export function reportItem(context, target) {
  const labels = { message: t("Report message"), user: t("Report user"), guild: t("Report guild") };
  const open = async () =>
    (await loadModule(() => import("./report_dialog.js")))?.openReportDialog(context, target, labels[target.kind]);
  return { label: labels[target.kind], icon: "flag", isDangerous: true, onClick: open };
}
