/** User and message commands of apps, which context menus list, and running a command without options. */

import { APPLICATION_COMMAND, interactionsOf } from "../network/interactions.js";
import { inChannel } from "../state/context.js";
import { notice } from "../ui/notices.js";
import { MESSAGE, USER, commandsIn, dataOf } from "./available_commands.js";

/**
 * Return the user commands of a context menu.
 *
 * @returns {Promise<{label: string, application: object, press: () => Promise<boolean>}[]>}
 */
export function userCommands(context, user) {
  return menuCommands(USER, context, user.id);
}

/** Return the message commands of a context menu. */
export function messageCommands(context, message) {
  return menuCommands(MESSAGE, inChannel(context, message.channel_id ?? context.channelId), message.id);
}

async function menuCommands(type, context, target) {
  const found = await commandsIn(context);
  return found
    .filter(({ command }) => command.type === type)
    .map(entry => ({
      label: entry.name,
      application: entry.application,
      press: () => runCommand(entry, context, target),
    }));
}

/** Run a context menu or entry point command and show a notice if it fails. */
export async function runCommand(entry, context, target) {
  const data = dataOf(entry, []);
  if (target) data.target_id = target;
  try {
    await interactionsOf(context).send(context, {
      type: APPLICATION_COMMAND,
      applicationId: entry.application.id,
      data,
    });
    return true;
  } catch (error) {
    notice(`${entry.name}: ${error.sentence ?? error.message}`, "problem");
    return false;
  }
}
