import { type Case, type CrashPoint, type Observed, runCase, runCrash } from './run-case.ts';
import { faults } from './faults.ts';

/** A case of the fault tables and what was seen. */
export interface FaultCell {
  readonly peer: string;
  readonly fault: string;
  readonly timeouts: boolean;
  readonly seen: Observed;
}

/** A case of the crash tables. */
export interface CrashCell {
  readonly peer: string;
  readonly point: CrashPoint;
  readonly cautious: boolean;
  readonly seen: Observed;
}

/** Where processes are killed, in the order of a conversation. */
export const crashPoints: readonly CrashPoint[] = ['in-tool', 'tool-return', 'after-tool', 'mid-final', 'mid-call'];

/** Rows in which most programs only wait; they cost no processor, so that more of them may run at once. */
const waiting: ReadonlySet<string> = new Set(['429-ra90', 'stall30', 'hang', 'hang-headers', 'quota']);

/** All fault cases of some peers: defaults for every row, and the time-outs of 10 s for the rows of silence. */
export function faultCases(peers: readonly string[], rows: readonly string[], capMs: number): readonly Case[] {
  const cases = peers.flatMap((peer) =>
    rows.flatMap((fault) => {
      const silent = faults[fault]?.group === 'silence';
      return (silent ? [false, true] : [false]).map((timeouts) => ({ peer, fault, timeouts, capMs }));
    }),
  );
  return cases;
}

/** How long it takes about, s. */
export function expectedSeconds(cases: readonly Case[], crashes: number, capMs: number): number {
  const waits = cases.filter((one) => waiting.has(one.fault)).length;
  const quick = cases.length - waits;
  return (
    Math.round(Math.max((waits * 0.7 * capMs) / 1000 / WAIT_LANES, (quick * 1.7 + crashes * 1.2) / QUICK_LANES)) + 10
  );
}

const WAIT_LANES = 8;
const QUICK_LANES = 2;

/** Runs the cases: two at once, and beside them up to eight that mostly wait. */
export async function runFaults(
  cases: readonly Case[],
  tick: (cell: FaultCell) => void,
): Promise<readonly FaultCell[]> {
  const run = async (one: Case): Promise<FaultCell> => {
    const cell = { ...one, seen: await runCase(one) };
    tick(cell);
    return cell;
  };
  const [slow, quick] = await Promise.all([
    inLanes(
      cases.filter((one) => waiting.has(one.fault)),
      WAIT_LANES,
      run,
    ),
    inLanes(
      cases.filter((one) => !waiting.has(one.fault)),
      QUICK_LANES,
      run,
    ),
  ]);
  return [...slow, ...quick];
}

/** Kills each program at each point, with a model that asks again; and inside the tool also with a cautious one. */
export async function runCrashes(peers: readonly string[]): Promise<readonly CrashCell[]> {
  const cases = peers.flatMap((peer) => [
    ...crashPoints.map((point) => ({ peer, point, cautious: false })),
    ...(['in-tool', 'tool-return'] as const).map((point) => ({ peer, point, cautious: true })),
  ]);
  return inLanes(cases, QUICK_LANES, async (one) => ({
    ...one,
    seen: await runCrash(one.peer, one.point, one.cautious),
  }));
}

async function inLanes<One, Result>(
  all: readonly One[],
  lanes: number,
  run: (one: One) => Promise<Result>,
): Promise<readonly Result[]> {
  const rest = [...all];
  const results: Result[] = [];
  const lane = async (): Promise<void> => {
    // oxlint-disable-next-line no-await-in-loop -- a lane does one after the other
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) results.push(await run(one));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
