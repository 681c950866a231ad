/** People: users of the world whose actions a test requests from the control API. */

/** A user of the world, who acts over the public API and receives events over a gateway session. */
export class Person {
  #control;

  constructor(control, name, channel) {
    this.#control = control;
    this.name = name;
    this.channel = channel;
  }

  #call(operation, body, query) {
    return this.#control.call(operation, { path: { name: this.name }, body, query });
  }

  /** Return a copy of this person whose actions use another channel by default. */
  in(channel) {
    return new Person(this.#control, this.name, channel);
  }

  get() {
    return this.#call("get_person");
  }

  connect() {
    return this.#call("connect");
  }

  disconnect() {
    return this.#call("disconnect");
  }

  // Messages

  say(content, { channel = this.channel, files = {}, ...fields } = {}) {
    return this.#call("say", { channel, content, fields, files: encodeFiles(files) });
  }

  reply(message, content, { channel, ...fields } = {}) {
    return this.#call("reply", { message: idOf(message), channel: channel ?? message.channel_id, content, fields });
  }

  edit(message, content, { channel, ...fields } = {}) {
    return this.#call("edit", { message: idOf(message), channel: channel ?? message.channel_id, content, fields });
  }

  delete(message, { channel } = {}) {
    return this.#call("delete", { message: idOf(message), channel: channel ?? message.channel_id });
  }

  react(message, emoji, { channel } = {}) {
    return this.#call("react", { message: idOf(message), channel: channel ?? message.channel_id, emoji });
  }

  read({ channel = this.channel, limit } = {}) {
    return this.#call("read", undefined, { channel, limit });
  }

  // Events

  events(event) {
    return this.#call("list_events", undefined, { event });
  }

  async expect(event, fields = {}, { timeoutMs } = {}) {
    return (await this.#call("expect", { event, fields, timeout_ms: timeoutMs })).data;
  }

  expectMessage({ channel, author, content, timeoutMs, ...fields } = {}) {
    return this.#call("expect_message", { channel, author, content, fields, timeout_ms: timeoutMs });
  }

  expectNone(event, fields = {}) {
    return this.#call("expect_none", { event, fields });
  }

  // Applications

  run(command, options = {}, { channel = this.channel, target, application, ...waits } = {}) {
    const values = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, optionValue(value)]));
    const body = { channel, command, options: values, application, ...waitFields(waits) };
    return this.#call("run", target === undefined ? body : { ...body, target: idOf(target) });
  }

  complete(command, option, typed, { channel = this.channel, options, application, timeoutMs } = {}) {
    return this.#call("complete", { channel, command, option, typed, options, application, timeout_ms: timeoutMs });
  }

  click(button, { message, channel, ...waits } = {}) {
    return this.#call("click", { button, message: optionalId(message), channel, ...waitFields(waits) });
  }

  choose(select, values, { message, channel, ...waits } = {}) {
    const chosenValues = Array.isArray(values) ? values : [values];
    return this.#call("choose", {
      select,
      values: chosenValues,
      message: optionalId(message),
      channel,
      ...waitFields(waits),
    });
  }

  submit(fields, { modal, ...waits } = {}) {
    return this.#call("submit", { fields, modal: optionalId(modal), ...waitFields(waits) });
  }

  // Invites, friends, authorization and purchases

  invite({ channel = this.channel, ...fields } = {}) {
    return this.#call("invite", { channel, fields });
  }

  join(invite) {
    return this.#call("join", { invite: typeof invite === "string" ? invite : invite.code });
  }

  befriend(user) {
    return this.#call("befriend", { user: user instanceof Person ? user.name : user });
  }

  authorize(application, { scopes, guild, permissions, ...query } = {}) {
    return this.#call("authorize", { application, scopes, guild, permissions, query });
  }

  buy(sku, { guild } = {}) {
    return this.#call("buy", { sku, guild });
  }

  // Voice

  joinVoice(channel, { selfMute, selfDeaf, audio } = {}) {
    return this.#call("join_voice", { channel, self_mute: selfMute, self_deaf: selfDeaf, audio });
  }

  leaveVoice() {
    return this.#call("leave_voice");
  }

  play(file, { timeoutMs } = {}) {
    return this.#call("play", { file: encodeBase64(file), timeout_ms: timeoutMs });
  }

  async hear({ user, durationMs, quietMs, timeoutMs } = {}) {
    const body = { user, duration_ms: durationMs, quiet_ms: quietMs, timeout_ms: timeoutMs };
    const heard = await this.#call("hear", body);
    return { ...heard, file: Buffer.from(heard.file, "base64") };
  }

  /** Send any request to the public API with this person's token. */
  request(method, path, body) {
    return this.#call("request", { method, path, body });
  }
}

function idOf(object) {
  return typeof object === "string" ? object : object.id;
}

function optionalId(object) {
  return object === undefined || object === null ? undefined : idOf(object);
}

function waitFields({ waitForAnswer, timeoutMs }) {
  return { wait_for_answer: waitForAnswer, timeout_ms: timeoutMs };
}

function encodeBase64(data) {
  return Buffer.from(data).toString("base64");
}

function encodeFiles(files) {
  return Object.fromEntries(Object.entries(files).map(([name, data]) => [name, encodeBase64(data)]));
}

function optionValue(value) {
  if (value instanceof Person) return value.name;
  const isFile = typeof value === "object" && value !== null && "filename" in value && typeof value.data !== "string";
  return isFile ? { filename: value.filename, data: encodeBase64(value.data) } : value;
}
