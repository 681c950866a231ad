// ES modules need no transformation; start Jest with NODE_OPTIONS=--experimental-vm-modules.
export default { testMatch: ["**/*.test.mjs"], testTimeout: 120_000, transform: {} };
