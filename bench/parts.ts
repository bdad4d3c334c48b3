import { benchAppend, benchFold } from './journal.ts';
import { benchColdRun, benchGuard, benchLines, benchStart, benchSupervision } from './processes.ts';
import type { Row } from './report.ts';

/** What is measured, in the order of the report; what is quick has more rounds. */
export const parts: Readonly<Record<string, (rounds: number) => Promise<readonly Row[]>>> = {
  append: (rounds) => benchAppend(rounds * 3),
  fold: async (rounds) => [await benchFold(rounds)],
  lines: async (rounds) => [await benchLines(rounds * 3)],
  supervision: (rounds) => benchSupervision(rounds * 3),
  cold: async (rounds) => [await benchColdRun(rounds)],
  guard: async () => [await benchGuard()],
  start: async (rounds) => [await benchStart(rounds * 3)],
};
