// The first test starts the platform and the bot.
export default { test: { include: ["*.test.mjs"], hookTimeout: 120_000, testTimeout: 30_000 } };
