import { spawnSync } from 'node:child_process';
import { gates } from './gates.ts';

// Usage: npm run check. Runs every gate, also after one has failed, and exits 1 if any did.

const failed = gates.filter(({ name, program, args }) => {
  const start = performance.now();
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
  if (error !== undefined) console.error(`${program}: ${error.message}`);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  return status !== 0;
});
console.log(
  failed.length === 0 ? 'check: all gates hold' : `check: failed: ${failed.map(({ name }) => name).join(', ')}`,
);
process.exit(failed.length === 0 ? 0 : 1);
