/** Running activity instances, from GUILD_CREATE and EMBEDDED_ACTIVITY_UPDATE_V2 (spec/activities.md#3). */

const INSTANCES_MAX = 1_000;

/**
 * The running instances of one gateway connection.
 *
 * Dispatches `change` (detail: the instance, without participants if it ended) when an instance starts, changes or
 * ends. READY removes all instances without an event. Above `INSTANCES_MAX`, the oldest instance is removed without an
 * event too.
 */
export class ActivityInstances extends EventTarget {
  #instances = new Map();

  constructor(gateway) {
    super();
    gateway.addEventListener("READY", () => this.#instances.clear());
    gateway.addEventListener("GUILD_CREATE", ({ detail }) => {
      for (const instance of detail.activity_instances ?? []) this.#store(instance);
    });
    gateway.addEventListener("GUILD_DELETE", ({ detail }) =>
      this.#removeWhere(({ location }) => location.guild_id === detail.id),
    );
    gateway.addEventListener("EMBEDDED_ACTIVITY_UPDATE_V2", ({ detail }) => this.#store(detail));
  }

  /** Return the instances in a channel. */
  listIn(channelId) {
    return [...this.#instances.values()].filter(({ location }) => location.channel_id === channelId);
  }

  /** Return the instance of an app in a channel, or null. */
  find(applicationId, channelId) {
    return this.listIn(channelId).find(instance => instance.application_id === applicationId) ?? null;
  }

  /** Store an instance, or remove it when it has no participants. */
  #store(instance) {
    this.#instances.delete(instance.composite_instance_id);
    if (instance.participants.length) this.#instances.set(instance.composite_instance_id, instance);
    if (this.#instances.size > INSTANCES_MAX) this.#instances.delete(this.#instances.keys().next().value);
    this.dispatchEvent(new CustomEvent("change", { detail: instance }));
  }

  #removeWhere(matches) {
    for (const [id, instance] of this.#instances) {
      if (!matches(instance)) continue;
      this.#instances.delete(id);
      this.dispatchEvent(new CustomEvent("change", { detail: { ...instance, participants: [] } }));
    }
  }
}

const instancesByGateway = new WeakMap();

/** Return the instances of a gateway connection. Call before it connects, or the first events are missed. */
export function getActivityInstances({ gateway }) {
  if (!instancesByGateway.has(gateway)) instancesByGateway.set(gateway, new ActivityInstances(gateway));
  return instancesByGateway.get(gateway);
}
