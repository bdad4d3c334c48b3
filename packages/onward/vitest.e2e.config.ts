import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** End to end: the built command as real processes, with `kill -9`. One file at a time, since they measure processes. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    unstubEnvs: true,
    reporters: process.env['CI'] ? ['default', './test/closing-line.ts'] : ['default'],
  },
});
export default config;
