// The OpenID Connect provider `oidc-provider` with its own login pages, for `tests/independent_provider.py`.
// The argument is JSON: {port, clients, claims, keys, configuration}. The process writes one line when it listens, and one for each
// rejected request; it ends with its standard input.

import { createServer } from "node:http";
import Provider from "oidc-provider";

const settings = JSON.parse(process.argv[2]);
const report = fields => process.stdout.write(`${JSON.stringify(fields)}\n`);
// The library writes notices to standard output, which belongs to the reports.
console.info = console.error;

const provider = new Provider(`http://127.0.0.1:${settings.port}`, {
  clients: settings.clients,
  jwks: { keys: settings.keys },
  claims: { openid: ["sub"], profile: ["name", "preferred_username"], email: ["email", "email_verified"] },
  cookies: { keys: ["only for tests"] },
  async findAccount(_, id) {
    return { accountId: id, claims: () => ({ sub: id, ...settings.claims }) };
  },
  ...settings.configuration,
});
for (const name of ["authorization.error", "grant.error", "userinfo.error", "end_session.error", "server_error"]) {
  provider.on(name, (_, error) => report({ event: name, error: error.error, detail: error.error_detail ?? "" }));
}
createServer(provider.callback()).listen(settings.port, "127.0.0.1", () => report({ event: "listening" }));
process.stdin.on("end", () => process.exit(0)).resume();
