/** The dialogs and menus of calls, whose modules are loaded when they open. */

import { loadModule } from "../ui/lazy_modules.js";

/** Open the privacy code and the statistics of the call. */
export async function openCallDetails(context) {
  (await loadModule(() => import("./details.js")))?.showCallDetails(context);
}

/** Open the settings of microphone and speakers. */
export async function openVoiceSettings(context) {
  (await loadModule(() => import("./voice_settings.js")))?.showVoiceSettings(context);
}

/** Open the options of a participant next to `anchor`. */
export async function openParticipantOptions(anchor, context, user) {
  (await loadModule(() => import("./participant_options.js")))?.showParticipantOptions(anchor, context, user);
}
