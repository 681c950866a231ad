// Login with a passkey. The form stays hidden unless the browser supports passkeys; the password form needs no script.
const form = /** @type {HTMLFormElement} */ (document.querySelector("form[data-passkey]"));
const button = form.querySelector("button");
const problem = form.querySelector("[role=alert]");

/** Decode base64url. */
const toBytes = text =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), byte => byte.charCodeAt(0));
/** Encode bytes as base64url without padding. */
const toText = buffer =>
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
    await navigator.credentials.get({ publicKey: { ...options, challenge: toBytes(options.challenge) } })
  );
  const { clientDataJSON, authenticatorData, signature } = credential.response;
  return {
    ticket,
    credential: {
      id: credential.id,
      rawId: credential.id,
      type: credential.type,
      response: {
        clientDataJSON: toText(clientDataJSON),
        authenticatorData: toText(authenticatorData),
        signature: toText(signature),
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
