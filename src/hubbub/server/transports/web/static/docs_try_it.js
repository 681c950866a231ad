// The forms of the API reference on `hubbub dev`: each sends a request of an operation and shows the response. The
// tokens of callers are kept in this module only, never in the page.

const API_BASE = "/api/v10";
const CALLERS_PATH = "/docs/callers";
/** Values of the caller field besides the names of callers. */
const OTHER_TOKEN = "other";
const NO_TOKEN = "none";
const SHOWN_CHARACTERS_MAX = 100_000;
const SHOWN_HEADERS = [
  "X-RateLimit-Bucket",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset-After",
  "X-RateLimit-Scope",
  "Retry-After",
  "Location",
];

/** The error for a form field whose value does not allow a request. */
class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

let callers = [];
let variables = {};
let notice = "";
let callersLoading = null;

/** Load the callers and IDs of the world. The server returns them only to browsers on its own machine. */
async function loadCallers() {
  try {
    const response = await fetch(CALLERS_PATH, { method: "POST" });
    const body = await response.json();
    if (!response.ok) throw new Error(body.message);
    ({ callers, variables } = body);
  } catch (error) {
    notice = `The demo users are not available: ${error.message}`;
  }
}

const element = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const findPart = (form, name) => form.querySelector(`[data-part="${name}"]`);
const findParts = (form, name) => [...form.querySelectorAll(`[data-part="${name}"]`)];

/** Replace the variables of an example for which the world has a value. */
function fillVariables(text) {
  return text.replace(/\$([A-Z][A-Z0-9_]*)/g, (placeholder, name) => variables[name] ?? placeholder);
}

/** Fill in a form when its operation is opened for the first time. */
function prepare(form) {
  const select = findPart(form, "caller");
  if (select) {
    const callerKinds = form.dataset.callers.split(" ");
    const allowed = callers.filter(caller => callerKinds.includes(caller.kind));
    for (const caller of allowed) {
      select.append(element("option", { value: caller.name, textContent: `${caller.name} (${caller.kind})` }));
    }
    if ("anonymous" in form.dataset) select.append(element("option", { value: NO_TOKEN, textContent: "No token" }));
    select.append(element("option", { value: OTHER_TOKEN, textContent: "Another token" }));
    if ("anonymous" in form.dataset) select.value = NO_TOKEN;
    const tokenField = findPart(form, "token").closest(".field");
    const update = () => {
      tokenField.hidden = select.value !== OTHER_TOKEN;
    };
    select.addEventListener("change", update);
    update();
  }
  for (const input of findParts(form, "path")) input.value ||= variables[input.dataset.variable] ?? "";
  const body = findPart(form, "body");
  if (body) body.value = fillVariables(body.value);
  if (notice && select) showError(form, null, notice);
}

/** Return the Authorization header of the chosen caller, or null. */
function readAuthorization(form) {
  const select = findPart(form, "caller");
  if (!select || select.value === NO_TOKEN) return null;
  if (select.value !== OTHER_TOKEN) return callers.find(caller => caller.name === select.value).authorization;
  const tokenInput = findPart(form, "token");
  if (!tokenInput.value.trim())
    throw new FieldError(tokenInput, "Authorization: enter a token, or choose another caller.");
  return tokenInput.value.trim();
}

/** Parse the body; return undefined if it is empty. */
function readBody(form) {
  const input = findPart(form, "body");
  if (!input?.value.trim()) return undefined;
  try {
    return JSON.parse(input.value);
  } catch (error) {
    throw new FieldError(input, `Body: this is not valid JSON. ${error.message}`);
  }
}

/** Return the URL and the fetch options of the request. */
function buildRequest(form) {
  let path = form.dataset.path;
  for (const input of findParts(form, "path")) {
    if (!input.value.trim()) throw new FieldError(input, `${input.name}: enter a value.`);
    path = path.replace(`{${input.name}}`, encodeURIComponent(input.value.trim()));
  }
  const query = new URLSearchParams();
  for (const input of findParts(form, "query")) {
    if (input.required && !input.value) throw new FieldError(input, `${input.name}: enter a value.`);
    if (input.value) query.append(input.name, input.value);
  }
  const headers = {};
  for (const input of findParts(form, "header")) if (input.value) headers[input.name] = input.value;
  const authorization = readAuthorization(form);
  if (authorization !== null) headers.Authorization = authorization;
  const options = { method: form.dataset.method, headers, credentials: "omit", cache: "no-store" };
  const body = readBody(form);
  const upload = findPart(form, "file");
  if (upload?.files.length) {
    options.body = new FormData();
    if (body !== undefined) options.body.append("payload_json", JSON.stringify(body));
    options.body.append(upload.name, upload.files[0]);
  } else if (body !== undefined && form.dataset.encoding === "form") {
    options.body = new URLSearchParams(Object.entries(body).filter(([, value]) => value !== null));
  } else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const search = query.size ? `?${query}` : "";
  return [`${API_BASE}${path}${search}`, options];
}

function showError(form, field, message) {
  const line = form.querySelector(".error");
  line.textContent = message;
  line.hidden = false;
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  const details = field.closest("details.more");
  if (details) details.open = true;
  field.focus();
}

function clearErrors(form) {
  form.querySelector(".error").hidden = true;
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

/** Read the body of a response as text: formatted JSON, or its size if it is neither JSON nor text. */
async function readResponse(response) {
  const contentType = response.headers.get("Content-Type") ?? "";
  if (response.status === 204) return { text: "", value: null };
  if (!/json|^text\//.test(contentType))
    return { text: `${(await response.arrayBuffer()).byteLength} bytes of ${contentType}`, value: null };
  const text = await response.text();
  try {
    const responseBody = JSON.parse(text);
    return { text: JSON.stringify(responseBody, null, 2), value: responseBody };
  } catch {
    return { text, value: null };
  }
}

function showResponse(panel, response, durationMs, text) {
  const status = element("span", { className: response.ok ? "status-code" : "status-code failed" });
  status.textContent = response.status;
  const line = element("p", { className: "status" }, status, ` ${response.statusText} in ${durationMs} ms`);
  const headers = element("dl");
  for (const name of SHOWN_HEADERS) {
    const headerValue = response.headers.get(name);
    if (headerValue !== null)
      headers.append(element("dt", { textContent: name }), element("dd", { textContent: headerValue }));
  }
  const shownText = text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}\n...` : text;
  const body = element("pre", { className: "response", tabIndex: 0, textContent: shownText });
  body.setAttribute("aria-label", "Response body");
  panel.replaceChildren(element("h4", { textContent: "Response" }), line);
  if (headers.children.length) panel.append(headers);
  if (text) panel.append(body);
  panel.hidden = false;
  panel.scrollIntoView({ block: "nearest" });
}

/** Fill in the ID of a created object in the other forms of the page. */
function storeCreatedId(variable, value) {
  if (!variable || typeof value?.id !== "string") return;
  variables[variable] = value.id;
  for (const input of document.querySelectorAll(`[data-variable="${CSS.escape(variable)}"]`)) input.value = value.id;
}

/** Send the request of a form and show the response or the error. */
async function sendRequest(form) {
  const panel = form.parentElement.querySelector(".try-response");
  const button = form.querySelector("[type=submit]");
  clearErrors(form);
  button.disabled = true;
  try {
    const [url, options] = buildRequest(form);
    const startedMs = performance.now();
    const response = await fetch(url, options);
    const { text, value } = await readResponse(response);
    showResponse(panel, response, Math.round(performance.now() - startedMs), text);
    if (response.ok) storeCreatedId(form.dataset.creates, value);
  } catch (error) {
    panel.hidden = true;
    const isFieldError = error instanceof FieldError;
    showError(
      form,
      isFieldError ? error.field : null,
      isFieldError ? error.message : `The request failed: ${error.message}`,
    );
  } finally {
    button.disabled = false;
  }
}

/** Show the confirmation of a destructive request. */
function askConfirmation(form) {
  const group = form.querySelector(".confirm");
  group.hidden = false;
  group.querySelector("[data-action=cancel]").focus();
}

function onSubmit(event) {
  event.preventDefault();
  const form = event.target;
  if ("destructive" in form.dataset) askConfirmation(form);
  else sendRequest(form);
}

function onClick(event) {
  const action = event.target.dataset?.action;
  if (!action) return;
  const form = event.target.closest("form");
  form.querySelector(".confirm").hidden = true;
  form.querySelector("[type=submit]").focus();
  if (action === "confirm") sendRequest(form);
}

for (const panel of document.querySelectorAll("details.try")) {
  const form = panel.querySelector("form");
  panel.hidden = false;
  form.addEventListener("submit", onSubmit);
  form.addEventListener("click", onClick);
  panel.addEventListener(
    "toggle",
    async () => {
      await (callersLoading ??= loadCallers());
      prepare(form);
    },
    { once: true },
  );
}
