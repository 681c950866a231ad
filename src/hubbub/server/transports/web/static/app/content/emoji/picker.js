/** The function that opens the emoji picker, whose modules and list of emoji are loaded on first use. */

import { loadModule } from "../../ui/lazy_modules.js";

/**
 * Open the emoji picker at an element; `choose` receives the chosen emoji.
 *
 * @param {Element} anchor
 * @param {import("../../state/context.js").Context} context
 * @param {(emoji: {id?: string | null, name: string, animated?: boolean}) => void} choose
 */
export async function openEmojiPicker(anchor, context, choose) {
  const module = await loadModule(() => import("./window.js"));
  if (anchor.isConnected) module?.openEmojiWindow(anchor, context, choose);
}
