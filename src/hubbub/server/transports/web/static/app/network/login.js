/** Navigation from the chat client to the login page. */

let isLeaving = false;

/**
 * Open the login page. Only the first call navigates: when a session ends, requests and the gateway fail
 * at about the same time, and a second navigation would abort the first.
 *
 * @param {string} [next] path to open after the login
 */
export function openLoginPage(next) {
  if (isLeaving) return;
  isLeaving = true;
  location.assign(next ? `/login?next=${encodeURIComponent(next)}` : "/login");
}
