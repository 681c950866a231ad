/** Apps that the user authorized, and the path of the consent page for an app. */

/** IDs of the authorized applications; null before they are loaded. @type {Set<string> | null} */
let authorizedIds = null;
let isLoading = false;

function loadAuthorizations({ api, gateway, state }) {
  if (isLoading) return;
  isLoading = true;
  const reset = () => {
    authorizedIds = null;
    state.emitChange("channels");
  };
  gateway.addEventListener("OAUTH2_TOKEN_REVOKE", reset, { once: true });
  api
    .request("GET", "/oauth2/tokens")
    .then(
      authorizations => {
        authorizedIds = new Set(authorizations.map(({ application }) => application.id));
        state.emitChange("channels");
      },
      () => gateway.removeEventListener("OAUTH2_TOKEN_REVOKE", reset),
    )
    .finally(() => {
      isLoading = false;
    });
}

/**
 * Return whether the user authorized an application. While this is not known, return true and load it; a change of kind
 * `channels` follows.
 */
export function isAuthorized(context, applicationId) {
  if (authorizedIds === null) loadAuthorizations(context);
  return authorizedIds?.has(applicationId) ?? true;
}

/** Return the path of the consent page for an application, which leads back to the page that is open now. */
export function consentPath(applicationId) {
  // Public clients require a code challenge. The code stays unused: the application requests its own code.
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const challenge = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
  const query = new URLSearchParams({
    client_id: applicationId,
    response_type: "code",
    scope: "identify",
    code_challenge: challenge,
    code_challenge_method: "S256",
    next: location.pathname,
  });
  return `/oauth2/authorize?${query}`;
}
