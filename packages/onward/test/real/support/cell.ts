import { expect, onTestFinished } from 'vitest';
import { type FailureClass } from '../../../src/kernel/failure.ts';
import {
  effectStep,
  type FaultRule,
  type ModelServer,
  type RequestRecord,
  startModelServer,
  type Step,
  type Temperament,
} from '../../../src/lab/index.ts';
import type { RunStreamEvent } from '../../../src/library/index.ts';
import { type AgentName, type Setup, setUp, type SetupOptions } from './agents.ts';
import { type Onward, runOnward, startOnward } from './onward.ts';
import { createPlace, type Place } from './place.ts';
import { processesWith } from './processes.ts';
import { readEvents } from './read-events.ts';
import { recordRow } from './record-row.ts';
import { until } from './until.ts';

/** One situation that an agent is put into. */
export interface Cell {
  /** Its name in the table. */
  readonly name: string;
  readonly faults?: readonly FaultRule[];
  /** The task; `one` and `two` in `effects.log` unless given. */
  readonly steps?: readonly Step[];
  readonly temperament?: Temperament;
  readonly setup?: SetupOptions;
  /** Flags of `onward run`; the last one of a kind wins. */
  readonly flags?: readonly string[];
  /** Variables of the user's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Puts files into the place before the run. */
  readonly prepare?: (place: Place) => void;
}

/** A cell that is being played. */
export interface Stage {
  readonly agent: AgentName;
  readonly cell: Cell;
  readonly place: Place;
  readonly server: ModelServer;
  readonly setup: Setup;
  /** The environment of every `onward` of this cell. */
  readonly env: Readonly<Record<string, string>>;
  /** The arguments of `onward run` for it. */
  readonly args: readonly string[];
}

/** Waits that are long enough to be seen and short enough for a suite; silence that no healthy step comes near. */
const DEFAULT_FLAGS = ['--schedule', '200ms,400ms,800ms', '--idle-timeout', '60s'] as const;

/** A server with the cell's script and a place for its agent. Nothing has been started yet. */
export async function setStage(agent: AgentName, cell: Cell): Promise<Stage> {
  const place = createPlace();
  const server = await startModelServer({
    script: {
      task: { steps: cell.steps ?? [effectStep('one', 1), effectStep('two', 2)] },
      temperament: cell.temperament ?? 'checker',
      faults: cell.faults ?? [],
    },
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const setup = setUp(agent, place, server.url, cell.setup);
  cell.prepare?.(place);
  const args = ['run', '--json', ...DEFAULT_FLAGS, ...(cell.flags ?? []), '--', ...setup.command];
  return { agent, cell, place, server, setup, env: { ...setup.env, ...cell.env }, args };
}

/** `onward run` for the cell, as a process. */
export function start(stage: Stage): Onward {
  return startOnward(stage.place, stage.env, stage.args);
}

/** What must be true of a cell afterwards. */
export interface Expected {
  readonly exit: number;
  /** Class of each failed attempt, by the fault that was injected; or of every one, where their number is a race. */
  readonly failed?: readonly FailureClass[] | { readonly each: FailureClass };
  /** Requests that the run would have made this far without any fault; 3 for the usual task. */
  readonly healthy?: number;
  /** Requests that the agent repeats by itself and tells of; counted from the events and compared with this, if given. */
  readonly retried?: number;
  /** Requests that the agent repeats by itself and says nothing of. A reason stands beside each use. */
  readonly silent?: number;
  /** Failed attempts whose last request did its step all the same, or that made none; `any` where that is a race. */
  readonly kept?: number | 'any';
  /** Instead of the sum of the above, where what failed never reached the server. */
  readonly requests?: number;
  /** How often each effect happened; once each unless given, for every step of the task. `any` = only counted. */
  readonly effects?: Readonly<Record<string, number>> | 'any';
  /** Conversations at most; 1 unless given. */
  readonly conversations?: number;
  /** What is as right where the agent itself leaves it to chance; a reason stands beside each use. */
  readonly or?: Expected;
}

/**
 * What must be true of a kill within the first second of a conversation. Claude Code may not have saved its session by then,
 * which it says without a request: then one labelled fallback goes on from the journal.
 */
export function orSessionUnsaved(expected: Expected): Expected {
  const kept = expected.kept === 'any' ? 'any' : (expected.kept ?? 0) + 1;
  return { ...expected, or: { ...expected, failed: ['crash', 'context-lost'], conversations: 2, kept } };
}

/** A cell that has come to its end. */
export interface Outcome {
  readonly stage: Stage;
  readonly exit: number | null;
  /** Everything on record of the run. */
  readonly events: readonly RunStreamEvent[];
  readonly requests: readonly RequestRecord[];
  readonly why: WhyPage;
}

/** The part of `onward why --json` that is looked at. */
export interface WhyPage {
  readonly state: string;
  readonly because: string;
  readonly innerRetries: number;
  readonly attempts: readonly {
    readonly mode: string;
    readonly outcome: string;
    readonly class: string | null;
    readonly rule: string | null;
  }[];
  readonly notRepeated: readonly string[];
  readonly unknown: readonly string[];
  readonly byHand: string | null;
}

/** Plays a cell from `onward run` to its end and checks it. */
export async function checkCell(agent: AgentName, cell: Cell, expected: Expected): Promise<Outcome> {
  const stage = await setStage(agent, cell);
  const onward = start(stage);
  const { code } = await onward.exited;
  return conclude(stage, onward, code, expected);
}

/** Checks everything that must be true once the last `onward` of a cell has ended, and records the row. */
export async function conclude(stage: Stage, onward: Onward, exit: number | null, wanted: Expected): Promise<Outcome> {
  const outcome = await readOutcome(stage, await onward.id(), exit);
  const expected = chooseExpected(wanted, outcome.events);
  const { events, requests } = outcome;
  const retried = events.filter(({ type }) => type === 'request.retried').length;
  const attempts = events.filter(({ type }) => type === 'attempt.started').length;
  const words = (stage.cell.steps ?? [{ id: 'one' }, { id: 'two' }]).flatMap(wordsOf);
  const counted = stage.place.effects();
  const effects = words.map((word) => counted[word] ?? 0);
  const temperament = stage.cell.temperament ?? 'checker';
  recordRow({
    cell: stage.cell.name,
    agent: stage.agent,
    temperament,
    exit,
    attempts,
    requests: requests.length,
    retried,
    effects,
  });
  const story = tell(outcome, onward);
  expect(exit, story).toBe(expected.exit);
  checkFailures(outcome, expected, story);
  checkRequests(outcome, expected, { retried, story });
  if (expected.effects !== 'any')
    expect(counted, story).toEqual(expected.effects ?? Object.fromEntries(words.map((word) => [word, 1])));
  return outcome;
}

function wordsOf(step: Pick<Step, 'id'> | Step): readonly string[] {
  return 'delegate' in step ? step.delegate.steps.map(({ id }) => id) : [step.id];
}

async function readOutcome(stage: Stage, id: string, exit: number | null): Promise<Outcome> {
  const { place, env, server } = stage;
  const left = await until('no process of the run is left', () => processesWith(place.home).length === 0, 10_000)
    .then(() => [])
    .catch(() => processesWith(place.home));
  expect(left, 'processes that outlived the run').toEqual([]);
  const why = await runOnward(place, env, ['why', id, '--json']);
  const events = await readEvents(place, id);
  return { stage, exit, events, requests: server.requests, why: JSON.parse(why.stdout) as WhyPage };
}

/** Exit status, last event, `why` and the failures agree with each other and with what was injected. */
function checkFailures({ exit, events, why }: Outcome, expected: Expected, story: string): void {
  const recorded = events.filter(({ type }) => type === 'attempt.failed');
  const failed = failuresOf(expected, recorded.length);
  expect(recorded.map(classOf), story).toEqual(failed);
  const starts = events.filter(({ type }) => type === 'attempt.started');
  for (const { willRetry, nextAt, attempt } of recorded) {
    expect(willRetry, story).toBe(nextAt !== null);
    if (nextAt !== null) expect(starts[attempt ?? 0]?.at, story).toBeGreaterThanOrEqual(nextAt);
  }
  expect(
    why.attempts.flatMap((attempt) => (attempt.class === null ? [] : [attempt.class])),
    story,
  ).toEqual(failed);
  const done = events.filter(({ type }) => type === 'attempt.committed').length;
  expect(done, story).toBe(exit === 0 ? 1 : 0);
  expect(why.attempts.at(-1)?.outcome, story).toBe(exit === 0 ? 'finished with evidence' : 'failed');
  const seqs = events.map(({ seq }) => seq);
  expect(seqs, story).toEqual(seqs.map((_, index) => index + 1));
  const sessions = events
    .filter(({ type }) => type === 'attempt.session')
    .map(({ data }) => (data as { readonly id: string }).id);
  expect(new Set(sessions).size, story).toBeLessThanOrEqual(expected.conversations ?? 1);
}

/** The one whose failures happened; the first if none did. */
function chooseExpected(expected: Expected, events: readonly RunStreamEvent[]): Expected {
  const recorded = events.filter(({ type }) => type === 'attempt.failed').map(classOf);
  const all = expected.or === undefined ? [expected] : [expected, expected.or];
  return all.find((each) => failuresOf(each, recorded.length).join() === recorded.join()) ?? expected;
}

function failuresOf({ failed = [] }: Expected, recorded: number): readonly string[] {
  return 'each' in failed ? Array<string>(recorded).fill(failed.each) : failed;
}

/** Requests = healthy + one per failed attempt + those that the agent repeated + looks at what was in doubt. */
function checkRequests(
  { events, requests, why }: Outcome,
  expected: Expected,
  { retried, story }: { readonly retried: number; readonly story: string },
): void {
  if (expected.retried !== undefined) expect(retried, story).toBe(expected.retried);
  expect(why.innerRetries, story).toBe(retried);
  const looks = requests.filter(({ answer }) => answer?.includes('cat effects.log') === true).length;
  const failed = events.filter(({ type }) => type === 'attempt.failed').length;
  const { healthy = 3, silent = 0, kept = 0 } = expected;
  const sum = healthy + failed + retried + looks + silent;
  expect(requests.length, story).toBeLessThanOrEqual(expected.requests ?? sum - (kept === 'any' ? 0 : kept));
  expect(requests.length, story).toBeGreaterThanOrEqual(expected.requests ?? sum - (kept === 'any' ? failed : kept));
  const refused = requests.flatMap((request) => (request.refused === null ? [] : [request.refused]));
  expect(refused, 'histories that the real provider would refuse').toEqual([]);
}

function classOf({ data }: RunStreamEvent): string {
  return (data as { readonly classification: { readonly class: string } }).classification.class;
}

/** What happened, for the message of an assertion that fails. */
function tell({ events, requests, exit, why }: Outcome, onward: Onward): string {
  return [
    `exit ${exit}`,
    ...requests.map(
      ({ index, fault, answer, status, state, streaming }) =>
        `request ${index}${streaming ? '' : ' (not streaming)'}: ${status} ${state} ${JSON.stringify(fault)} ${answer}`,
    ),
    ...events
      .filter(({ type }) => type !== 'usage.reported')
      .map(({ seq, type, attempt, data }) => `${seq} ${type} ${attempt} ${JSON.stringify(data).slice(0, 600)}`),
    JSON.stringify(why),
    onward.stderr(),
  ].join('\n');
}
