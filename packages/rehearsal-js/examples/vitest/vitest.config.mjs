// The `beforeAll` hook starts the platform and the bot, so it may take longer than a test.
export default { test: { include: ["*.test.mjs"], hookTimeout: 120_000, testTimeout: 30_000 } };
