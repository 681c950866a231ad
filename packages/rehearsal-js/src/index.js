/** The public names of the package. */

export { ExpectationFailed, PlatformNotStarted, RehearsalError, RequestRejected } from "./errors.js";
export { ControlClient } from "./control.js";
export { Person } from "./person.js";
export { Clock, Faults, Platform, Snapshot, connectPlatform, startPlatform } from "./platform.js";
