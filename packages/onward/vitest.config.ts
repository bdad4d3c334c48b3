import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** The default suite: everything that needs neither a server nor an installed agent. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'test/real/**', 'test/int/**', '**/node_modules/**'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 5_000,
    unstubEnvs: true,
    restoreMocks: true,
    reporters: process.env['CI'] ? ['default', './test/closing-line.ts'] : ['default'],
  },
});
export default config;
