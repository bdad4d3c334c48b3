import { benchChain } from './agent/chain.ts';
import { benchOpen } from './agent/open.ts';
import { benchPeers, benchStore, benchTurns } from './agent/turns.ts';
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
  'agent-turns': (rounds) => benchTurns(rounds),
  'agent-store': (rounds) => benchStore(few(rounds)),
  'agent-chain': (rounds) => benchChain(few(rounds)),
  'agent-open': (rounds) => benchOpen(rounds),
  'agent-peers': (rounds) => benchPeers(few(rounds)),
};

/** Rounds for what takes long. */
function few(rounds: number): number {
  return Math.ceil(rounds / 3);
}
