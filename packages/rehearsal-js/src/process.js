/** The process of a platform: choosing a program or container engine, starting it, its ready document and its end. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { PlatformNotStarted } from "./errors.js";

const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 20;
const LOG_CHARACTERS_MAX = 8000;
/** Number of forks of a platform in a container, each of which needs a published port. */
const CONTAINER_FORKS_MAX = 16;
const PORT_ATTEMPTS_MAX = 50;
const PACKAGE = "hubbub[server]";
const COMMAND_VARIABLE = "REHEARSAL_COMMAND";
const IMAGE_VARIABLE = "REHEARSAL_IMAGE";

/** Start `hubbub dev`, wait until it is ready, and return its ready document with functions to stop it and read its log. */
export async function startProcess({
  command,
  image,
  world,
  seed,
  now,
  rateLimits,
  args = [],
  env = process.env,
  startTimeoutMs = START_TIMEOUT_MS,
} = {}) {
  const launcher = await chooseLauncher({ command, image, env });
  const folder = await mkdtemp(join(tmpdir(), "hubbub-rehearsal-"));
  const settings = [...settingArguments({ seed, now, rateLimits }), ...args];
  let launch;
  try {
    launch = await launcher({ folder, world: world === undefined ? undefined : resolve(world), settings });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const platform = new PlatformProcess(launch, folder, env);
  try {
    platform.ready = await platform.waitUntilReady(startTimeoutMs);
  } catch (error) {
    await platform.stop();
    throw error;
  }
  return platform;
}

/**
 * Return the function that builds the command line: for the given command, else for the first program that is installed.
 * With an image, only container engines are used. Throw if none of the programs is installed.
 */
async function chooseLauncher({ command, image, env }) {
  const commandWords = command ?? env[COMMAND_VARIABLE]?.split(" ").filter(Boolean);
  if (commandWords !== undefined)
    return localLauncher(typeof commandWords === "string" ? [commandWords] : commandWords);
  if (image === undefined) {
    if (await isInstalled("hubbub", env)) return localLauncher(["hubbub"]);
    if (await isInstalled("uvx", env)) return localLauncher(["uvx", "--from", PACKAGE, "hubbub"]);
    if (await isInstalled("pipx", env)) return localLauncher(["pipx", "run", "--spec", PACKAGE, "hubbub"]);
  }
  for (const engine of ["docker", "podman"]) {
    if (await isInstalled(engine, env)) return containerLauncher(engine, image ?? env[IMAGE_VARIABLE] ?? "hubbub");
  }
  throw new PlatformNotStarted(
    `Hubbub is not installed. Install it with pip install '${PACKAGE}', install uv, pipx or Docker, ` +
      `or name its command in the option command or in ${COMMAND_VARIABLE}.`,
  );
}

function localLauncher(command) {
  return async ({ folder, world, settings }) => {
    const readyFile = join(folder, "ready.json");
    const worldArguments = world === undefined ? [] : ["--world", world];
    const line = [...command, "dev", "--stop-with-stdin", "--port", "0", "--ready-file", readyFile];
    return { line: [...line, ...worldArguments, ...settings], readReady: () => readJson(readyFile) };
  };
}

/** Files of a container belong to another user, so the ready document is requested from the control API. */
function containerLauncher(engine, image) {
  return async ({ world, settings }) => {
    const port = await freePorts(1 + CONTAINER_FORKS_MAX);
    const lastPort = port + CONTAINER_FORKS_MAX;
    const token = randomBytes(24).toString("base64url");
    const url = `http://127.0.0.1:${port}`;
    const runArguments = ["run", "--rm", "--interactive", "--init", "--publish"];
    runArguments.push(`127.0.0.1:${port}-${lastPort}:${port}-${lastPort}`);
    const mountArguments = world === undefined ? [] : ["--volume", `${world}:/world.toml:ro`];
    // The image is configured for durable data; a rehearsal is in memory.
    const programArguments = ["--entrypoint", "env", image, "-u", "HUBBUB_DATA", "-u", "HUBBUB_PORT", "hubbub", "dev"];
    const devArguments = ["--stop-with-stdin", "--host", "0.0.0.0", "--port", String(port), "--public-url", url];
    devArguments.push("--fork-ports", `${port + 1}-${lastPort}`);
    const worldArguments = world === undefined ? [] : ["--world", "/world.toml"];
    const engineArguments = [...runArguments, ...mountArguments, "--env", "HUBBUB_CONTROL_TOKEN"];
    return {
      line: [engine, ...engineArguments, ...programArguments, ...devArguments, ...worldArguments, ...settings],
      variables: { HUBBUB_CONTROL_TOKEN: token },
      readReady: () => requestReady(`${url}/control`, token),
    };
  };
}

function settingArguments({ seed, now, rateLimits }) {
  const time = now instanceof Date ? now.toISOString() : now;
  const valuesByFlag = { "--seed": seed, "--now": time, "--rate-limits": rateLimits };
  return Object.entries(valuesByFlag).flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]));
}

class PlatformProcess {
  #child;
  #folder;
  #readReady;
  #ended;
  #log = "";
  #error;

  constructor({ line: [program, ...args], readReady, variables = {} }, folder, env) {
    this.program = program;
    this.#folder = folder;
    this.#readReady = readReady;
    // Settings for a server that runs from this shell must not affect tests.
    const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("HUBBUB_")));
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...inherited, ...variables } });
    // A test that fails before it closes its platform must not keep the test run alive; the program ends with its standard input.
    for (const handle of [this.#child, ...this.#child.stdio]) handle.unref();
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding("utf8").on("data", text => {
        this.#log = (this.#log + text).slice(-LOG_CHARACTERS_MAX);
      });
    }
    // Closing the standard input fails if the program has already ended.
    this.#child.stdin.on("error", () => {});
    this.#ended = new Promise(resolve => {
      this.#child.on("close", resolve);
      this.#child.on("error", error => {
        this.#error = error;
        resolve();
      });
    });
  }

  log() {
    return this.#log;
  }

  async waitUntilReady(timeoutMs) {
    let hasEnded = false;
    this.#ended.then(() => {
      hasEnded = true;
    });
    const deadline = Date.now() + timeoutMs;
    while (!hasEnded && Date.now() < deadline) {
      const ready = await this.#readReady();
      if (ready !== undefined) return ready;
      await new Promise(resolve => setTimeout(resolve, POLL_INTERVAL_MS));
    }
    let problem = hasEnded ? "ended before it was ready" : `was not ready after ${timeoutMs} ms`;
    if (this.#error) problem = `cannot be started: ${this.#error.message}`;
    throw new PlatformNotStarted(`${this.program} ${problem}.`, this.#log.trim(), { cause: this.#error });
  }

  /** End the standard input of the program, which stops the platform; kill the program if it does not end. */
  async stop() {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function readJson(path) {
  try {
    // The ready file is written atomically.
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

async function requestReady(url, token) {
  try {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

async function isInstalled(program, env) {
  for (const folder of (env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean)) {
    for (const suffix of process.platform === "win32" ? [".exe", ".cmd"] : [""]) {
      try {
        await access(join(folder, program + suffix), constants.X_OK);
        return true;
      } catch {
        // The next folder may have the program.
      }
    }
  }
  return false;
}

/** Return the first of `count` consecutive ports on which no server listens. */
async function freePorts(count) {
  for (let attempt = 0; attempt < PORT_ATTEMPTS_MAX; attempt++) {
    const firstPort = await listenOnce(0);
    const otherPorts = Array.from({ length: count - 1 }, (_, index) => firstPort + 1 + index);
    const results = await Promise.allSettled(otherPorts.map(listenOnce));
    if (results.every(({ status }) => status === "fulfilled")) return firstPort;
  }
  throw new PlatformNotStarted(`No ${count} consecutive ports are free.`);
}

function listenOnce(requestedPort) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(requestedPort, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
