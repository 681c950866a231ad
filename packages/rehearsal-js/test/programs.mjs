// Shell scripts that stand in for hubbub, uvx, pipx and docker, and that run the command of this test run.

import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program and arguments that run `hubbub` in this test run. */
export const COMMAND = (process.env.REHEARSAL_COMMAND ?? "hubbub").split(" ");

/** Create and return a folder with one program, which writes its arguments to the file `arguments` and then runs a script. */
export async function createProgram(context, name, script) {
  const folder = await mkdtemp(join(tmpdir(), "hubbub-programs-"));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\nprintf '%s\\n' "$@" > "${folder}/arguments"\n${script}\n`);
  await chmod(path, 0o755);
  return folder;
}
