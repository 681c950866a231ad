// Tests of starting a platform with each program, of failed starts, and of the end of its process.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { PlatformNotStarted, connectPlatform, startPlatform } from "hubbub-rehearsal";
import { COMMAND, createProgram } from "./programs.mjs";

/** The command that runs `hubbub`, quoted for a shell. */
const HUBBUB = COMMAND.map(word => `'${word}'`).join(" ");

/** Return the environment of this process with one folder of programs in PATH, and without a configured command. */
function environment(folder) {
  const { REHEARSAL_COMMAND: _, ...inherited } = process.env;
  return { ...inherited, PATH: folder };
}

/**
 * Start a platform with a program that runs a script; return the arguments that the program received. `use` is called with
 * the platform.
 */
async function startWith(context, program, script, use = async () => {}) {
  const folder = await createProgram(context, program, script);
  const platform = await startPlatform({ env: environment(folder), seed: 7, rateLimits: "off" });
  context.after(() => platform.close());
  assert.equal((await platform.person("alice").say("hello")).content, "hello");
  assert.equal((await platform.rateLimits()).mode, "off");
  await use(platform);
  return (await readFile(join(folder, "arguments"), "utf8")).trim().split("\n");
}

test("The installed hubbub is used first", async context => {
  const args = await startWith(context, "hubbub", `exec ${HUBBUB} "$@"`);
  assert.deepEqual(args.slice(0, 4), ["dev", "--stop-with-stdin", "--port", "0"]);
});

test("uvx runs the package with its server", async context => {
  const args = await startWith(context, "uvx", `shift 3; exec ${HUBBUB} "$@"`);
  assert.deepEqual(args.slice(0, 4), ["--from", "hubbub[server]", "hubbub", "dev"]);
});

test("pipx runs the package with its server", async context => {
  const args = await startWith(context, "pipx", `shift 4; exec ${HUBBUB} "$@"`);
  assert.deepEqual(args.slice(0, 5), ["run", "--spec", "hubbub[server]", "hubbub", "dev"]);
});

test("A container is reached through its published port", async context => {
  // The script runs `hubbub dev` with its arguments on this machine, at the loopback address instead of all addresses.
  const script = `
    while [ "$1" != hubbub ] || [ "$2" != dev ]; do shift; done; shift 2
    for word do shift; [ "$word" = 0.0.0.0 ] && word=127.0.0.1; set -- "$@" "$word"; done
    exec ${HUBBUB} dev "$@"`;
  const forkUrls = [];
  const args = await startWith(context, "docker", script, async platform => {
    for (let number = 0; number < 2; number++) {
      const fork = await platform.fork();
      assert.equal((await fork.person("alice").say("in the fork")).content, "in the fork");
      forkUrls.push(fork.web);
    }
  });
  const port = args[args.indexOf("--port") + 1];
  assert.equal(args[0], "run");
  const ports = `${port}-${Number(port) + 16}`;
  assert.equal(args[args.indexOf("--publish") + 1], `127.0.0.1:${ports}:${ports}`);
  assert.equal(args[args.indexOf("--fork-ports") + 1], `${Number(port) + 1}-${Number(port) + 16}`);
  assert.deepEqual(
    forkUrls,
    [1, 2].map(number => `http://127.0.0.1:${Number(port) + number}`),
  );
  assert.equal(args[args.indexOf("--public-url") + 1], `http://127.0.0.1:${port}`);
  assert.equal(args[args.indexOf("--entrypoint") + 2], "hubbub");
});

test("Without any of the programs the error names them", async context => {
  const folder = await createProgram(context, "other", "");
  await assert.rejects(startPlatform({ env: environment(folder) }), error => {
    assert.ok(error instanceof PlatformNotStarted);
    assert.match(error.message, /pip install 'hubbub\[server\]', install uv, pipx or Docker/);
    return true;
  });
});

test("A platform that does not start shows its output", async () => {
  await assert.rejects(startPlatform({ command: COMMAND, args: ["--rate-limits", "some"] }), error => {
    assert.ok(error instanceof PlatformNotStarted);
    assert.match(error.message, /ended before it was ready/);
    assert.match(error.log, /rate_limits \(flag --rate-limits\)/);
    return true;
  });
});

test("A command that does not exist is the cause of the error", async () => {
  await assert.rejects(startPlatform({ command: ["hubbub-missing"] }), error => {
    assert.equal(error.cause.code, "ENOENT");
    return true;
  });
});

test("A second client connects by the ready document", async context => {
  const platform = await startPlatform({ command: COMMAND });
  context.after(() => platform.close());
  const otherPlatform = await connectPlatform(platform.ready);
  await otherPlatform.close();
  assert.equal((await platform.clock.get()).running, true);
});

/** Run a program that starts a platform; return its process and the URL that it prints. */
async function runProgram(endOfProgram) {
  const program = `
    import { startPlatform } from "hubbub-rehearsal";
    const platform = await startPlatform({ command: ${JSON.stringify(COMMAND)} });
    console.log(platform.web);
    ${endOfProgram}`;
  const run = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: import.meta.dirname ?? new URL(".", import.meta.url),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const web = await new Promise(resolve => createInterface({ input: run.stdout }).once("line", resolve));
  return { run, web };
}

async function waitUntilStopped(web) {
  const deadline = Date.now() + 30_000;
  while (
    await fetch(`${web}/healthz`).then(
      () => true,
      () => false,
    )
  ) {
    assert.ok(Date.now() < deadline, "the platform is still running");
  }
}

test("The platform ends with a test run that is killed", async () => {
  const { run, web } = await runProgram('await new Promise(resolve => process.stdin.on("data", resolve));');
  assert.equal((await fetch(`${web}/healthz`)).status, 200);
  run.kill("SIGKILL");
  await waitUntilStopped(web);
});

test("A test run that does not close its platform ends", { timeout: 60_000 }, async () => {
  const { run, web } = await runProgram("");
  const exitCode = run.exitCode ?? (await new Promise(resolve => run.once("exit", resolve)));
  assert.equal(exitCode, 0);
  await waitUntilStopped(web);
});
