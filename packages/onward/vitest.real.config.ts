import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { TableReporter } from './test/real/fixtures/table-reporter.ts';

const rowsFile = join(tmpdir(), `onward-real-rows-${process.pid}.jsonl`);
const table = new TableReporter(rowsFile);

/** The pinned real agents under the built `onward`, against the lab's model server. Installs them when they are missing. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/real/**/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['./test/real/fixtures/global-setup.ts'],
    provide: { rowsFile },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    unstubEnvs: true,
    reporters: process.env['CI'] ? ['default', table, './test/closing-line.ts'] : ['default', table],
  },
});
export default config;
