import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { applySessionEvent, emptySession, readSession, type SessionState } from '../../../../src/agent/index.ts';
import type { SessionEvent } from '../../../../src/agent/session-events.ts';
import { answerQuestion, listQuestions } from '../../../../src/effects/index.ts';
import type { Journal } from '../../../../src/kernel/journal.ts';
import type { Question, QuestionState } from '../../../../src/kernel/question.ts';
import type { Acceptance, ServiceBehaviour } from '../../../../src/lab/index.ts';
import type { Message } from '../../../../src/models/model.ts';
import { systemClock, systemRandom } from '../../../../src/processes/index.ts';
import { openSqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { Orders } from '../fixtures/program.ts';

const program = join(import.meta.dirname, '../fixtures/program.ts');
const service = join(import.meta.dirname, '../../../../src/lab/fake-service/main.ts');

/** What the program said at its end. */
export interface Done {
  readonly commits: number;
  readonly rounds: number;
  readonly refused: readonly string[];
  readonly history: readonly Message[];
}

/** A durable event that a reader was shown: position, type, data. */
export type Ack = readonly [number, string, unknown];

export interface Report {
  readonly signal: NodeJS.Signals | null;
  readonly done?: Done;
  readonly stderr: string;
}

/** Answers a question, or leaves it open (`undefined`). */
export type Person = (question: Question) => Promise<string | undefined>;

type More = Partial<Pick<Orders, 'strike' | 'recover'>> & { readonly person?: Person };

/** A process that runs. */
export interface Running {
  readonly report: Promise<Report>;
  /** The next question that it tells of. */
  readonly asked: Promise<Question>;
  kill(): void;
}

/** A journal, a service in a process of its own, and the file that the tools write; gone after the test. */
export interface Place {
  start(more?: More): Running;
  run(more?: More): Promise<Report>;
  /** What readers were shown so far, over all processes. */
  readonly acks: readonly Ack[];
  /** Calls whose bodies ran, oldest first: `write write-3`. */
  ran(): readonly string[];
  acceptances(): Promise<readonly Acceptance[]>;
  questions(): Promise<readonly QuestionState[]>;
  answer(id: string, choice: string): Promise<unknown>;
  /** The events as they are stored, and their fold; throws for a log that does not load. */
  load(): Promise<{ readonly events: readonly SessionEvent[]; readonly state: SessionState }>;
  end(): Promise<void>;
}

export async function makePlace(settles: boolean, behaviour: ServiceBehaviour): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), 'onward-agent-'));
  const journal = join(root, 'journal.db');
  const effects = join(root, 'effects');
  const server = spawn(process.execPath, [service, JSON.stringify(behaviour)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const programs = new Set<ReturnType<typeof spawn>>();
  const end = async (): Promise<void> => {
    for (const one of programs) one.kill('SIGKILL');
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
  const acks: Ack[] = [];

  const withJournal = async <T>(use: (opened: Journal) => Promise<T>): Promise<T> => {
    const opened = await openSqliteJournal({ path: journal, clock: systemClock, random: systemRandom });
    try {
      return await use(opened);
    } finally {
      await opened.close();
    }
  };
  const answer: Place['answer'] = async (id, choice) =>
    await withJournal(async (opened) => await answerQuestion(opened, id, { choice, by: 'test' }, systemClock));
  const acceptances: Place['acceptances'] = async () => {
    const log = (await (await fetch(`${url}/log`)).json()) as { readonly acceptances: readonly Acceptance[] };
    return log.acceptances;
  };
  const truthful: Person = async ({ subject }) => {
    if (subject === 'approval') return 'approve';
    return (await acceptances()).length > 0 ? 'happened' : 'did-not-happen';
  };
  const start: Place['start'] = ({ person = truthful, ...more } = {}) => {
    const orders: Orders = { journal, url, effects, settles, recover: false, ...more };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify(orders)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    programs.add(child);
    const asked = Promise.withResolvers<Question>();
    const answering: Promise<unknown>[] = [];
    const onQuestion = (question: Question): void => {
      asked.resolve(question);
      const say = async (): Promise<void> => {
        const choice = await person(question);
        if (choice !== undefined) await answer(question.id, choice);
      };
      answering.push(say());
    };
    const report = reportOf(child, acks, onQuestion).then(async (said) => {
      programs.delete(child);
      await Promise.all(answering);
      return said;
    });
    return { report, asked: asked.promise, kill: () => void child.kill('SIGKILL') };
  };
  return {
    start,
    run: async (more) => await start(more).report,
    acks,
    ran: () => (existsSync(effects) ? readFileSync(effects, 'utf8').trimEnd().split('\n') : []),
    acceptances,
    questions: async () =>
      existsSync(journal) ? await withJournal(async (opened) => await listQuestions(opened)) : [],
    answer,
    load: async () => {
      const events = existsSync(journal)
        ? await withJournal(async (opened) => await readSession(opened, 'session:s'))
        : [];
      const state = emptySession();
      for (const event of events) applySessionEvent(state, event);
      return { events, state };
    },
    end,
  };
}

async function reportOf(
  child: ReturnType<typeof spawn>,
  acks: Ack[],
  onQuestion: (question: Question) => void,
): Promise<Report> {
  let stderr = '';
  let rest = '';
  let done: Done | undefined;
  const onLine = (text: string): void => {
    const line = JSON.parse(text) as { readonly ack?: Ack; readonly waiting?: Question; readonly done?: Done };
    if (line.ack !== undefined) acks.push(line.ack);
    if (line.waiting !== undefined) onQuestion(line.waiting);
    if (line.done !== undefined) ({ done } = line);
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { signal, stderr, ...(done === undefined ? {} : { done }) };
}
