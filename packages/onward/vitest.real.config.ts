import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** The pinned real agents under the built `onward`, against the lab's model server. Installs them when they are missing. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/real/**/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['./test/real/fixtures/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    unstubEnvs: true,
    reporters: process.env['CI'] ? ['default', './test/closing-line.ts'] : ['default'],
  },
});
export default config;
