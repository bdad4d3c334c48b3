import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import type { EffectOutcome } from '../../../../src/effects/effect.ts';
import { answerQuestion, listQuestions } from '../../../../src/effects/index.ts';
import { effectPrefix } from '../../../../src/effects/key.ts';
import type { StoredEvent } from '../../../../src/kernel/envelope.ts';
import type { Journal } from '../../../../src/kernel/journal.ts';
import type { QuestionState } from '../../../../src/kernel/question.ts';
import type { Acceptance, ServiceBehaviour } from '../../../../src/lab/index.ts';
import { systemClock, systemRandom } from '../../../../src/processes/index.ts';
import { openSqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { Orders } from '../fixtures/client.ts';

const client = join(import.meta.dirname, '../fixtures/client.ts');
const service = join(import.meta.dirname, '../../../../src/lab/fake-service/main.ts');

/** What is known of the service, and declared with the call. */
export type Declared = Pick<Orders, 'lookup' | 'settleMs' | 'keyLifetimeMs' | 'leaseMs'>;

export interface Report {
  readonly signal: NodeJS.Signals | null;
  readonly outcome?: EffectOutcome;
  readonly commits?: number;
  readonly stderr: string;
}

export interface Running {
  readonly report: Promise<Report>;
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
}

/** A journal file and a service in a process of its own; gone after the test. */
export interface Scene {
  start(more?: Pick<Orders, 'strike' | 'signal'>): Running;
  /** Starts a client and waits for its end. */
  run(more?: Pick<Orders, 'strike' | 'signal'>): Promise<Report>;
  acceptances(): Promise<readonly Acceptance[]>;
  questions(): Promise<readonly QuestionState[]>;
  events(): Promise<readonly StoredEvent[]>;
  answer(id: string, choice: string): Promise<void>;
  end(): Promise<void>;
}

export async function makeScene(behaviour: ServiceBehaviour, declared: Declared): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'onward-effects-'));
  const journal = join(root, 'journal.db');
  const server = spawn(process.execPath, [service, JSON.stringify(behaviour)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const clients = new Set<ReturnType<typeof spawn>>();
  const end = async (): Promise<void> => {
    for (const one of clients) one.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) {
      const gone = once(server, 'close');
      server.kill('SIGKILL');
      await gone;
    }
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  };
  onTestFinished(end);
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };

  const start: Scene['start'] = (more = {}) => {
    const orders: Orders = { journal, url, ...declared, ...more };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', client, JSON.stringify(orders)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    clients.add(child);
    return {
      pid: child.pid ?? 0,
      kill: (signal) => void child.kill(signal),
      report: reportOf(child).finally(() => clients.delete(child)),
    };
  };
  const withJournal = async <T>(use: (opened: Journal) => Promise<T>): Promise<T> => {
    const opened = await openSqliteJournal({ path: journal, clock: systemClock, random: systemRandom });
    try {
      return await use(opened);
    } finally {
      await opened.close();
    }
  };
  return {
    start,
    run: (more) => start(more).report,
    acceptances: async () => {
      const log = (await (await fetch(`${url}/log`)).json()) as { readonly acceptances: readonly Acceptance[] };
      return log.acceptances;
    },
    questions: async () => (existsSync(journal) ? withJournal((opened) => listQuestions(opened)) : []),
    events: () =>
      withJournal(async (opened) => {
        const [stream] = await opened.streams(effectPrefix);
        return stream === undefined ? [] : opened.read(stream);
      }),
    answer: (id, choice) =>
      withJournal(async (opened) => void (await answerQuestion(opened, id, { choice, by: 'test' }, systemClock))),
    end,
  };
}

async function reportOf(child: ReturnType<typeof spawn>): Promise<Report> {
  let out = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { signal, stderr, ...(out === '' ? {} : (JSON.parse(out) as Pick<Report, 'outcome' | 'commits'>)) };
}

export async function inLanes<T>(items: readonly T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
