/** Which activities run where: what GUILD_CREATE told, and EMBEDDED_ACTIVITY_UPDATE_V2 since (activities.md 3). */

const KEPT = 1_000;

/** Says `change` (detail: the instance) whenever one begins, changes or ends. */
export class ActivityInstances extends EventTarget {
  #known = new Map();

  constructor(gateway) {
    super();
    gateway.addEventListener("READY", () => this.#known.clear());
    gateway.addEventListener("GUILD_CREATE", ({ detail }) => {
      for (const each of detail.activity_instances ?? []) this.#keep(each);
    });
    gateway.addEventListener("GUILD_DELETE", ({ detail }) => this.#drop(({ location }) => location.guild_id === detail.id));
    gateway.addEventListener("EMBEDDED_ACTIVITY_UPDATE_V2", ({ detail }) => this.#keep(detail));
  }

  /** What runs in a channel. */
  in(channelId) {
    return [...this.#known.values()].filter(({ location }) => location.channel_id === channelId);
  }

  /** What runs of an app in a channel, if it does. */
  find(applicationId, channelId) {
    return this.in(channelId).find(each => each.application_id === applicationId) ?? null;
  }

  /** Keep what the platform says of one; without anybody in it, it is over. */
  #keep(instance) {
    this.#known.delete(instance.composite_instance_id);
    if (instance.participants.length) this.#known.set(instance.composite_instance_id, instance);
    if (this.#known.size > KEPT) this.#known.delete(this.#known.keys().next().value);
    this.dispatchEvent(new CustomEvent("change", { detail: instance }));
  }

  #drop(is) {
    for (const [id, instance] of this.#known) {
      if (!is(instance)) continue;
      this.#known.delete(id);
      this.dispatchEvent(new CustomEvent("change", { detail: { ...instance, participants: [] } }));
    }
  }
}

const known = new WeakMap();

/** Those of a connection; must be asked for before the connection is opened, or the beginning is missed. */
export function instancesOf({ gateway }) {
  if (!known.has(gateway)) known.set(gateway, new ActivityInstances(gateway));
  return known.get(gateway);
}
