// Login with a passkey. The form stays hidden unless the browser supports passkeys; the password form needs no script.
const form = /** @type {HTMLFormElement} */ (document.querySelector("form[data-passkey]"));
const button = form.querySelector("button");
const problem = form.querySelector("[role=alert]");

/** Return the bytes of a base64url text. */
const decodeBase64Url = text =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), byte => byte.charCodeAt(0));
/** Return bytes as base64url text without padding. */
const encodeBase64Url = buffer =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** Request a challenge and let the user sign it with a passkey; return the fields of the login form. */
async function requestCredential() {
  const response = await fetch("/api/v10/auth/passkeys/challenge", { method: "POST" });
  if (!response.ok) throw new Error((await response.json()).message);
  const { ticket, options } = await response.json();
  const credential = /** @type {any} */ (
    await navigator.credentials.get({ publicKey: { ...options, challenge: decodeBase64Url(options.challenge) } })
  );
  const { clientDataJSON, authenticatorData, signature } = credential.response;
  return {
    ticket,
    credential: {
      id: credential.id,
      rawId: credential.id,
      type: credential.type,
      response: {
        clientDataJSON: encodeBase64Url(clientDataJSON),
        authenticatorData: encodeBase64Url(authenticatorData),
        signature: encodeBase64Url(signature),
      },
    },
  };
}

form.addEventListener("submit", async event => {
  event.preventDefault();
  button.disabled = true;
  problem.hidden = true;
  try {
    const { ticket, credential } = await requestCredential();
    form.elements.namedItem("ticket").value = ticket;
    form.elements.namedItem("credential").value = JSON.stringify(credential);
    form.submit();
  } catch (error) {
    // The page has the text in the language of the user.
    problem.textContent = error.name === "NotAllowedError" ? form.dataset.passkey : error.message;
    problem.hidden = false;
    button.disabled = false;
  }
});

if (window.isSecureContext && window.PublicKeyCredential) form.hidden = false;
