import { spawnSync } from 'node:child_process';

// Usage: npm run check. Runs every gate, also after one has failed, and exits 1 if any did.

/** What each gate is called, and its command. Programs are found by the path that `npm run` sets. */
const GATES: readonly (readonly [name: string, program: string, ...args: string[]])[] = [
  ['types', 'tsc', '-p', 'packages/onward/tsconfig.json'],
  ['types of the kernel, without those of Node', 'tsc', '-p', 'packages/onward/tsconfig.kernel.json'],
  ['types of the tools', 'tsc', '-p', 'tools/tsconfig.json'],
  ['lint and sizes', 'oxlint', '--type-aware', '--deny-warnings'],
  ['format', 'oxfmt', '--check'],
  ['import rules', 'node', 'tools/check/check-imports.ts'],
  ['contracts', 'node', 'tools/check/check-contracts.ts'],
  ['unused files, exports and dependencies', 'knip'],
  ['build', 'tsc', '-p', 'packages/onward/tsconfig.build.json'],
  ['package', 'publint', '--strict', 'packages/onward'],
];

const failed = GATES.filter(([name, program, ...args]) => {
  const start = performance.now();
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
  if (error !== undefined) console.error(`${program}: ${error.message}`);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  return status !== 0;
});
console.log(
  failed.length === 0 ? 'check: all gates hold' : `check: failed: ${failed.map(([name]) => name).join(', ')}`,
);
process.exit(failed.length === 0 ? 0 : 1);
