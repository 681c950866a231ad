/** Running activity instances, from GUILD_CREATE and EMBEDDED_ACTIVITY_UPDATE_V2 (spec/activities.md#3). */

const INSTANCES_MAX = 1_000;

/** Dispatches `change` (detail: the instance) when an instance starts, changes or ends. */
export class ActivityInstances extends EventTarget {
  #known = new Map();

  constructor(gateway) {
    super();
    gateway.addEventListener("READY", () => this.#known.clear());
    gateway.addEventListener("GUILD_CREATE", ({ detail }) => {
      for (const instance of detail.activity_instances ?? []) this.#store(instance);
    });
    gateway.addEventListener("GUILD_DELETE", ({ detail }) =>
      this.#removeWhere(({ location }) => location.guild_id === detail.id),
    );
    gateway.addEventListener("EMBEDDED_ACTIVITY_UPDATE_V2", ({ detail }) => this.#store(detail));
  }

  /** Return the instances in a channel. */
  in(channelId) {
    return [...this.#known.values()].filter(({ location }) => location.channel_id === channelId);
  }

  /** Return the instance of an app in a channel, or null. */
  find(applicationId, channelId) {
    return this.in(channelId).find(instance => instance.application_id === applicationId) ?? null;
  }

  /** Store an instance, or remove it when it has no participants. */
  #store(instance) {
    this.#known.delete(instance.composite_instance_id);
    if (instance.participants.length) this.#known.set(instance.composite_instance_id, instance);
    if (this.#known.size > INSTANCES_MAX) this.#known.delete(this.#known.keys().next().value);
    this.dispatchEvent(new CustomEvent("change", { detail: instance }));
  }

  #removeWhere(matches) {
    for (const [id, instance] of this.#known) {
      if (!matches(instance)) continue;
      this.#known.delete(id);
      this.dispatchEvent(new CustomEvent("change", { detail: { ...instance, participants: [] } }));
    }
  }
}

const known = new WeakMap();

/** Return the instances of a gateway connection. Call before it connects, or the first events are missed. */
export function instancesOf({ gateway }) {
  if (!known.has(gateway)) known.set(gateway, new ActivityInstances(gateway));
  return known.get(gateway);
}
