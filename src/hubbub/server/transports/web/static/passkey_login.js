// Login with a passkey. The form works without this script; the button is hidden until the script has found that it can be used.
const form = /** @type {HTMLFormElement} */ (document.querySelector("form[data-passkey]"));
const button = form.querySelector("button");
const problem = form.querySelector("[role=alert]");

const toBytes = text =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), byte => byte.charCodeAt(0));
const toText = buffer =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

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
    problem.textContent =
      error.name === "NotAllowedError" ? "No passkey was used. Try again or use your password." : error.message;
    problem.hidden = false;
    button.disabled = false;
  }
});

if (window.isSecureContext && window.PublicKeyCredential) form.hidden = false;
