/** User and message commands of apps for context menus, and the function that runs a command without options. */

import { APPLICATION_COMMAND, getInteractions } from "../network/interactions.js";
import { bindToChannel } from "../state/context.js";
import { showNotice } from "../ui/notices.js";
import { MESSAGE_COMMAND, USER_COMMAND, fetchCommands, interactionData } from "./available_commands.js";

/**
 * Return the user commands of a context menu.
 *
 * @returns {Promise<{label: string, application: object, run: () => Promise<boolean>}[]>}
 */
export function fetchUserCommands(context, user) {
  return menuCommands(USER_COMMAND, context, user.id);
}

/** Return the message commands of a context menu. */
export function fetchMessageCommands(context, message) {
  return menuCommands(MESSAGE_COMMAND, bindToChannel(context, message.channel_id ?? context.channelId), message.id);
}

async function menuCommands(type, context, targetId) {
  const entries = await fetchCommands(context);
  return entries
    .filter(({ command }) => command.type === type)
    .map(entry => ({
      label: entry.name,
      application: entry.application,
      run: () => runCommand(entry, context, targetId),
    }));
}

/** Run a context menu or entry point command; show a notice if it fails, and return whether it succeeded. */
export async function runCommand(entry, context, targetId) {
  const data = interactionData(entry, []);
  if (targetId) data.target_id = targetId;
  try {
    await getInteractions(context).send(context, {
      type: APPLICATION_COMMAND,
      applicationId: entry.application.id,
      data,
    });
    return true;
  } catch (error) {
    showNotice(`${entry.name}: ${error.userText ?? error.message}`, "problem");
    return false;
  }
}
