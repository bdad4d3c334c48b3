import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import type { ProcessIdentity } from './identity.ts';
import { MARKER_VARIABLE, requireMarker } from './marker.ts';
import { requirePosix } from './platform.ts';
import type { ProcessRow } from './process-row.ts';
import { listProcesses, ticksOf, variableReader } from './process-table.ts';

/** A process of the attempt. */
export interface SweptProcess extends ProcessIdentity {
  /** The short name of its program. */
  readonly name: string;
}

/** Whose processes. */
export interface SweepSubject {
  readonly marker: string;
  /** Processes known from before (the agent, from the journal): they count, with all below them, if the start is the same. */
  readonly seen?: readonly ProcessIdentity[];
  /**
   * The group of an agent that *this* process started (name the agent in `seen` too): all in it count. Not after a restart
   * of the host: the number may belong to somebody else by then.
   */
  readonly group?: number;
  /**
   * The agent that carries the marker, if it is known: whatever inherits the marker is its descendant and began no earlier,
   * so that no environment of an earlier process is read. One that began earlier could carry the marker only if it was
   * given it by other means and then executed a new program in place: that is no process of the attempt.
   */
  readonly first?: ProcessIdentity;
}

/** A sweep: `boundMs` (default 10,000) is how long it tries. */
export interface SweepOptions extends SweepSubject {
  readonly clock: Clock;
  readonly boundMs?: number;
  /** Ends the sweep early, with what is left. */
  readonly signal?: Signal;
}

/** `gone`: nothing of the attempt lives. Otherwise `left` still does. */
export type SweepResult =
  | { readonly gone: true; readonly killed: readonly SweptProcess[] }
  | { readonly gone: false; readonly killed: readonly SweptProcess[]; readonly left: readonly SweptProcess[] };

const PAUSE_MS = 15;
/** For how long a process may look as if it were executing a new program before it is taken for one without a name. */
const EXECUTING_MS = 2_000;

/**
 * Ends every process of an attempt with SIGKILL, until two looks in a row find none: one that is just forking is in no
 * list. A look at a process that is just executing a new program, and shows no environment meanwhile, does not count.
 */
export function sweep(options: SweepOptions): Promise<SweepResult> {
  return sweepBy(look, options);
}

/** Which agent's attempt, and for how long at most: `boundMs` as in `sweep`. */
export interface AgentSweep {
  readonly identity: ProcessIdentity;
  readonly marker: string;
  readonly clock: Clock;
  readonly boundMs?: number;
}

/** Ends every process of an attempt whose agent *this* process started: also its whole group, and no look at older processes. */
export function sweepAgent({ identity, ...rest }: AgentSweep): Promise<SweepResult> {
  return sweep({ ...rest, seen: [identity], group: identity.pid, first: identity });
}

/** What one look at all processes found: those of the attempt, and whether some could not be told yet. */
interface Look {
  readonly ours: readonly SweptProcess[];
  readonly executing: boolean;
}

/** @internal */
export async function sweepBy(see: (subject: SweepSubject) => Look, options: SweepOptions): Promise<SweepResult> {
  const { clock, boundMs = 10_000, signal } = options;
  const killed = new Map<string, SweptProcess>();
  const start = clock.monotonic();
  for (let empty = 0; ;) {
    const { ours, executing } = see({ ...options, seen: [...(options.seen ?? []), ...killed.values()] });
    const passed = clock.monotonic() - start;
    const isHurried = passed >= boundMs || signal?.aborted === true;
    if (ours.length > 0) empty = 0;
    else if (!executing || isHurried || passed >= EXECUTING_MS) empty += 1;
    if (empty === 2) return { gone: true, killed: [...killed.values()] };
    for (const target of ours) if (kill(target.pid)) killed.set(`${target.pid}/${target.startedAt}`, target);
    if (ours.length > 0 && isHurried) {
      return { gone: false, killed: [...killed.values()], left: ours };
    }
    // oxlint-disable-next-line no-await-in-loop -- the pause between two looks
    await clock.sleep(PAUSE_MS, signal);
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    // Gone in between, or not ours to kill: the next look tells which.
    return false;
  }
}

/**
 * Every live process of an attempt: marked with exactly this marker, seen before, in the agent's group, or below one of
 * these. Never this process nor what is below it only, and nothing that carries the marker of another attempt.
 * What cleared its environment, left the group and lost its parent is not found.
 */
export function findProcesses(subject: SweepSubject): readonly SweptProcess[] {
  return look(subject).ours;
}

function look(subject: SweepSubject): Look {
  requirePosix('Looking for processes');
  requireMarker(subject.marker);
  const rows = listProcesses().filter((row) => row.pid !== process.pid);
  const isKnown = knownOnes(subject, rows);
  const mayInherit = inheritors(subject);
  const markerOf = variableReader(MARKER_VARIABLE);
  const ours = new Set<number>();
  const others = new Set<number>();
  const unclear = new Set<number>();
  for (const row of rows) {
    const marker = mayInherit(row) ? markerOf(row) : NO_MARKER;
    if (marker.kind === 'value') (marker.value === subject.marker ? ours : others).add(row.pid);
    else if (isKnown(row)) ours.add(row.pid);
    else if (marker.kind === 'executing') unclear.add(row.pid);
  }
  addDescendants(rows, ours, others);
  return {
    ours: rows.filter((row) => ours.has(row.pid)).map(({ pid, startedAt, name }) => ({ pid, startedAt, name })),
    executing: [...unclear].some((pid) => !ours.has(pid)),
  };
}

const NO_MARKER = { kind: 'absent' } as const;

/** Tells whether a process is young enough to carry the marker. Ticks are 10 ms, so one of the same tick is looked at. */
function inheritors({ first }: SweepSubject): (row: ProcessRow) => boolean {
  const since = first === undefined ? undefined : ticksOf(first.startedAt);
  if (since === undefined) return () => true;
  return ({ ticks }) => ticks === undefined || ticks >= since;
}

/** Tells whether an unmarked process is known to belong to the attempt. */
function knownOnes({ seen = [], group }: SweepSubject, rows: readonly ProcessRow[]): (row: ProcessRow) => boolean {
  const starts = new Map(seen.map((known) => [known.pid, known.startedAt]));
  // The group's number may have gone to a process that has nothing to do with it, once all of the group had ended.
  const leader = rows.find((row) => row.pid === group);
  const isOurGroup = leader === undefined || starts.get(leader.pid) === leader.startedAt;
  return (row) => {
    if (group !== undefined && isOurGroup && (row.group === group || row.session === group)) return true;
    return starts.get(row.pid) === row.startedAt;
  };
}

function addDescendants(rows: readonly ProcessRow[], ours: Set<number>, others: ReadonlySet<number>): void {
  if (ours.size === 0) return;
  for (let before = -1; before !== ours.size;) {
    before = ours.size;
    for (const row of rows) if (ours.has(row.parent) && !others.has(row.pid)) ours.add(row.pid);
  }
}
