import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { parts } from './parts.ts';
import { markdown, type Row } from './report.ts';

// Usage: npm run bench [-- ROUNDS]. Needs a built package.
const rounds = Number(process.argv[2] ?? 7);
const one = new URL('one-part.ts', import.meta.url).pathname;
// Each part in a process of its own: starting a process costs more the larger the heap that an earlier part has left.
const rows = Object.keys(parts).flatMap((name) => {
  const { status, stdout } = spawnSync(process.execPath, [one, name, String(rounds)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`the part ${name} exited ${status}`);
  return JSON.parse(stdout) as Row[];
});
console.log(markdown(rows));
console.log(
  `\nNode ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, median of ${rounds} rounds.`,
);
