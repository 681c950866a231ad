/** API requests with the access token of an activity's application. */

/** Send a request with the app's access token, which grants only its scopes; resolve to null if the API rejects it. */
export async function requestAsApp(token, path, options = {}) {
  // Header values accept only printable ASCII characters.
  const headers = { Authorization: `Bearer ${token.replace(/[^\x21-\x7e]/g, "")}` };
  const response = await fetch(`/api/v10${path}`, { ...options, headers, credentials: "omit", cache: "no-store" });
  return response.ok ? await response.json() : null;
}
