import { createHash } from 'node:crypto';
import type { StoredEvent } from '../../../../src/kernel/envelope.ts';
import type { Journal } from '../../../../src/kernel/journal.ts';
import type { Json } from '../../../../src/kernel/json.ts';
import { resolvePolicy } from '../../../../src/kernel/policy.ts';
import type { Hash, Ids } from '../../../../src/kernel/ports.ts';
import { attachRun, resumeRun, type Supervision } from '../../../../src/library/attach.ts';
import { createMemoryJournal } from '../../../../src/stores/memory/index.ts';
import {
  acceptRun,
  foldRun,
  runInbox,
  runStream,
  type RunResult,
  type RunState,
  type RunStreamEvent,
  type SupervisorDeps,
} from '../../../../src/supervisor/index.ts';
import { createFakeClock, type FakeClock } from '../../../../src/testing/index.ts';
import { type AdapterTraits, scriptedAdapter } from './scripted-adapter.ts';
import type { AgentScript } from './scripted-agent.ts';
import { ScriptedMachine } from './scripted-machine.ts';
import { type JournalDouble, watchedJournal } from './journal-double.ts';

export const hash: Hash = { sha256: (text) => createHash('sha256').update(text).digest('hex') };

/** Everything one test of the coordinator works with. Time stands still until the test lets it pass. */
export interface Rig {
  readonly machine: ScriptedMachine;
  readonly clock: FakeClock;
  readonly store: Journal;
  /** One more `onward` process on the same machine and journal. */
  process(pid?: number, host?: string): RigProcess;
  /** The first one. */
  readonly own: RigProcess;
  /** Records a run in the first process and keeps it going there. */
  start(request?: Partial<RigRequest>): Promise<Started>;
  events(id: string): Promise<readonly StoredEvent[]>;
  types(id: string): Promise<readonly string[]>;
  data(id: string, type: string): Promise<readonly { readonly [key: string]: Json }[]>;
  state(id: string): Promise<RunState>;
  /** Lets time pass, second by second, until the promise has settled. Throws when `atMost` has passed. */
  until<T>(what: Promise<T>, atMost?: number): Promise<T>;
  /** Lets time pass, second by second, until something is so. */
  untilTrue(what: string, isSo: () => boolean | Promise<boolean>, atMost?: number): Promise<void>;
  cancel(id: string, because?: string): Promise<void>;
}

export interface RigProcess {
  readonly pid: number;
  readonly deps: SupervisorDeps;
  readonly journal: JournalDouble;
  attach(id: string, after?: number): Started;
  resume(id: string): Promise<Started>;
  /** `kill -9`: nothing it does from now on has an effect. */
  kill(): void;
}

export interface RigRequest {
  readonly command: readonly string[];
  readonly policy: Json;
  readonly stdin: string;
  readonly continuation: string;
}

/** A run that is being supervised, with all its events as they come. */
export interface Started {
  readonly id: string;
  readonly run: Supervision;
  readonly seen: RunStreamEvent[];
  /** The result, once all events have been delivered as well. */
  readonly result: Promise<RunResult>;
}

export interface RigOptions extends AdapterTraits {
  readonly scripts?: readonly AgentScript[];
}

/** Short waits, so that tests need not let hours pass; jitter is off since the sample is its middle. */
export function createRig(options: RigOptions = {}): Rig {
  const machine = new ScriptedMachine();
  machine.scripts.push(...(options.scripts ?? []));
  const clock = createFakeClock();
  const store = createMemoryJournal({ clock });
  const ids = countingIds();
  const process = (pid = 1, host?: string): RigProcess => {
    const journal = watchedJournal(store);
    const deps: SupervisorDeps = {
      journal: journal.journal,
      adapters: [scriptedAdapter(machine, options)],
      host: machine.host(pid, host),
      clock,
      random: { next: () => 0.5 },
      ids,
      hash,
      env: { PATH: '/bin', API_TOKEN: 'tok-very-secret-value' },
    };
    return {
      pid,
      deps,
      journal,
      attach: (id, after) => started(attachRun(deps, id, after)),
      resume: async (id) => started(await resumeRun(deps, id, 'a test')),
      kill: () => {
        journal.freeze();
        machine.kill(pid);
      },
    };
  };
  const own = process();
  const events = (id: string): Promise<readonly StoredEvent[]> => store.read(runStream(id));
  return {
    machine,
    clock,
    store,
    process,
    own,
    start: async (request = {}) => own.attach(await accept(own.deps, request)),
    events,
    types: async (id) => (await events(id)).map((event) => event.type),
    data: async (id, type) =>
      (await events(id))
        .filter((event) => event.type === type)
        .map((event) => event.data as { readonly [key: string]: Json }),
    state: async (id) => foldRun(id, await events(id)) as RunState,
    until: (what, atMost) => until(clock, what, atMost),
    untilTrue: (what, isSo, atMost) => untilTrue(clock, what, isSo, atMost),
    cancel: async (id, because = 'enough') => {
      await store.append([
        {
          stream: runInbox(id),
          expected: 'any',
          events: [{ type: 'cancel.requested', v: 1, id: ids.uuid(), data: { cause: because } }],
          due: clock.now(),
        },
      ]);
    },
  };
}

/** Records a run without keeping it going. */
export async function accept(deps: SupervisorDeps, request: Partial<RigRequest> = {}): Promise<string> {
  const layers = request.policy === undefined ? [] : [{ source: 'flag' as const, values: request.policy }];
  return acceptRun(deps, {
    command: request.command ?? ['agent', 'do the task'],
    cwd: '/project',
    policy: resolvePolicy(layers, hash),
    ...(request.stdin === undefined ? {} : { stdin: request.stdin }),
    ...(request.continuation === undefined ? {} : { continuation: request.continuation }),
  });
}

function started(run: Supervision): Started {
  const seen: RunStreamEvent[] = [];
  const reading = (async () => {
    for await (const event of run) seen.push(event);
  })();
  const result = (async () => {
    const value = await run.result;
    await reading;
    return value;
  })();
  result.catch(() => undefined);
  reading.catch(() => undefined);
  return { id: run.id, run, seen, result };
}

function countingIds(): Ids {
  let last = 0;
  return { uuid: () => `00000000-0000-7000-8000-${String(++last).padStart(12, '0')}` };
}

async function until<T>(clock: FakeClock, what: Promise<T>, atMost = 3_600_000): Promise<T> {
  let isSettled = false;
  const settle = (): void => void (isSettled = true);
  what.then(settle, settle);
  await untilTrue(clock, 'it is settled', () => isSettled, atMost);
  return what;
}

async function untilTrue(
  clock: FakeClock,
  what: string,
  isSo: () => boolean | Promise<boolean>,
  atMost = 3_600_000,
): Promise<void> {
  for (let passed = 0; passed <= atMost; passed += 1_000) {
    for (let turn = 0; turn < 20; turn++) {
      if (await isSo()) return;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    await clock.advance(1_000);
  }
  throw new Error(`${atMost} ms passed and it is not so: ${what}`);
}
