/** The first messages of forum posts, each loaded on first use and again after a change. */

/** A cache of the first messages of the posts of a forum; `onLoad` is called after each request. */
export class FirstMessages {
  #context;
  #onLoad;
  /** Messages by post ID; null until a message is loaded, or if it cannot be read. @type {Map<string, any>} */
  #messages = new Map();

  constructor(context, onLoad) {
    this.#context = context;
    this.#onLoad = onLoad;
    for (const name of RELOADING_EVENTS) context.gateway.addEventListener(name, this.#onEvent);
  }

  end() {
    for (const name of RELOADING_EVENTS) this.#context.gateway.removeEventListener(name, this.#onEvent);
  }

  /** Return the first message of a post, or null; load it if it is unknown. */
  get(postId) {
    if (!this.#messages.has(postId)) {
      this.#messages.set(postId, null);
      this.#load(postId);
    }
    return this.#messages.get(postId);
  }

  /** Load the first message of a post again after an event about it. It has the ID of the post. */
  #onEvent = ({ detail }) => {
    const messageId = detail.message_id ?? detail.id;
    if (messageId === detail.channel_id && this.#messages.has(messageId)) this.#load(messageId);
  };

  async #load(postId) {
    try {
      const message = await this.#context.api.request("GET", `/channels/${postId}/messages/${postId}`);
      this.#messages.set(postId, message);
    } catch {
      // The message was deleted or cannot be read. The post is shown without it.
      this.#messages.set(postId, null);
    }
    this.#onLoad();
  }
}

const RELOADING_EVENTS = [
  "MESSAGE_UPDATE",
  "MESSAGE_DELETE",
  "MESSAGE_REACTION_ADD",
  "MESSAGE_REACTION_REMOVE",
  "MESSAGE_REACTION_REMOVE_ALL",
  "MESSAGE_REACTION_REMOVE_EMOJI",
];
