import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { parts } from './parts.ts';
import { markdown, type Row } from './report.ts';

// Usage: npm run bench [-- [PART...] [ROUNDS]]. PART is the beginning of the name of a part: `agent` measures all of the agent.
// Needs a built package.
const args = process.argv.slice(2);
const wanted = args.filter((arg) => !/^\d+$/.test(arg));
const rounds = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 7);
const names = Object.keys(parts).filter(
  (name) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
);
if (names.length === 0) throw new Error(`there is no part ${wanted.join(', ')}: ${Object.keys(parts).join(', ')}`);
const one = new URL('one-part.ts', import.meta.url).pathname;
// Each part in a process of its own: starting a process costs more the larger the heap that an earlier part has left.
const rows = names.flatMap((name) => {
  const { status, stdout } = spawnSync(process.execPath, [one, name, String(rounds)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`the part ${name} exited ${status}`);
  return JSON.parse(stdout) as Row[];
});
console.log(markdown(rows));
console.log(
  `\nNode ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, median of ${rounds} rounds, of what takes long fewer.`,
);
