import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseSync } from 'vite';
import { contracts } from './import-rules.ts';

// Usage: node tools/check/check-contracts.ts [SOURCE_FOLDER]. Exits 1 for a contract file that cannot be read in a minute.

const MOST_LINES = 100;

/** Lines that hold code: what a reader must keep in mind. Comments are there to be read instead. */
function codeLines(path: string, source: string): number {
  const { comments } = parseSync(path, source);
  const code = comments.reduceRight((text, { start, end }) => text.slice(0, start) + text.slice(end), source);
  return code.split('\n').filter((line) => line.trim() !== '').length;
}

const folder = process.argv[2] ?? 'packages/onward/src';
const present = contracts.filter((path) => existsSync(join(folder, path)));
let tooLarge = 0;
for (const contract of present) {
  const path = join(folder, contract);
  const lines = codeLines(path, readFileSync(path, 'utf8'));
  if (lines <= MOST_LINES) continue;
  tooLarge += 1;
  console.error(`${relative('.', path)}: ${lines} lines of code; this contract has at most ${MOST_LINES}`);
}
console.log(`contracts: ${present.length} files, ${tooLarge} too large`);
process.exit(present.length > 0 && tooLarge === 0 ? 0 : 1);
