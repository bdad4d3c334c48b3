import { cpus } from 'node:os';
import { benchAppend, benchFold } from './journal.ts';
import { benchColdRun, benchGuard, benchLines, benchStart, benchSupervision } from './processes.ts';
import { markdown } from './report.ts';

// Usage: npm run bench [-- ROUNDS]. Needs a built package.
const rounds = Number(process.argv[2] ?? 7);
const rows = [
  ...(await benchAppend(rounds)),
  await benchFold(rounds),
  await benchLines(rounds),
  ...(await benchSupervision(rounds * 3)),
  benchColdRun(rounds),
  await benchGuard(),
  benchStart(rounds * 2 + 1),
];
console.log(markdown(rows));
console.log(
  `\nNode ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, median of ${rounds} rounds.`,
);
