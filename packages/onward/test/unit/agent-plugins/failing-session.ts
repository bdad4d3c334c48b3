import type { Plugin, RequestErrorAction } from '../../../src/agent/plugin.ts';
import type { SessionEvent } from '../../../src/agent/session-events.ts';
import { classify } from '../../../src/kernel/classify.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { createFakeSession, type FakeSession, type FakeSessionOptions } from './fake-host.ts';

export const overloaded: Failure = { message: 'Overloaded', type: 'overloaded_error', status: 529 };

/** What a request fails with, in a session without a loop. */
export interface FailedRequest {
  readonly failure?: Failure;
  readonly model?: string;
  readonly interrupted?: boolean;
  readonly signal?: AbortSignal;
  /** What the listeners behind the plugin answer. */
  readonly next?: () => RequestErrorAction | undefined | Promise<RequestErrorAction | undefined>;
}

/** A session in which requests fail: the test says when, a plugin decides what follows. */
export interface FailingSession extends FakeSession {
  /** Opens the next turn: a prompt's, or a retry of the last one. */
  open(kind?: 'prompt' | 'retry'): void;
  /** Opens and closes the next step of the turn as failed, and asks the plugins. */
  fail(request?: FailedRequest): Promise<RequestErrorAction | undefined>;
  /** As `fail`, in a turn of its own that retries the last one; time passes until an answer is there. */
  retryAndFail(request?: FailedRequest): Promise<RequestErrorAction | undefined>;
  /** Lets time pass until it is there. */
  settle<Value>(answer: Promise<Value>): Promise<Value>;
  commitAnswer(): void;
}

export function createFailingSession(
  plugins: readonly Plugin[],
  options: FakeSessionOptions & { readonly events?: readonly SessionEvent[] } = {},
): FailingSession {
  const session = createFakeSession(options);
  for (const plugin of plugins) session.load(plugin);
  let [turn, chain, step] = [0, 0, 0];

  const open = (kind: 'prompt' | 'retry' = 'prompt'): void => {
    if (turn > 0) session.emit('turn.closed', { turn, chain, end: { reason: 'interrupted' } });
    const trigger = kind === 'prompt' ? { kind, id: `prompt-${turn + 1}` } : { kind, of: turn };
    turn += 1;
    step = 0;
    if (kind === 'prompt') chain = turn;
    session.emit('turn.opened', { turn, chain, trigger });
  };
  const openStep = (model: string): void => {
    step += 1;
    session.emit('step.opened', { turn, step, model, messages: 1, generation: 0 });
  };
  const fail = async (request: FailedRequest = {}): Promise<RequestErrorAction | undefined> => {
    const { failure = overloaded, model = 'test/one', interrupted = false } = request;
    const signal = request.signal ?? new AbortController().signal;
    openStep(model);
    session.emit('step.closed', { turn, step, outcome: interrupted ? 'interrupted' : 'failed', failure });
    const payload = { turn, step, chain, signal, model, failure, classification: classify(failure), interrupted };
    return await session.run('agent/request-error', payload, request.next ?? (() => undefined));
  };
  const settle = async <Value>(answer: Promise<Value>): Promise<Value> => {
    const seen = { over: false };
    const watched = answer.finally(() => (seen.over = true));
    for (let round = 0; round < 50 && !seen.over; round++) {
      // oxlint-disable-next-line no-await-in-loop -- time passes piece by piece
      await session.clock.advance(session.clock.pending()[0] ?? 0);
    }
    return await watched;
  };
  return Object.assign(session, {
    open,
    fail,
    settle,
    retryAndFail: async (request?: FailedRequest) => {
      open('retry');
      return await settle(fail(request));
    },
    commitAnswer: () => {
      openStep('test/one');
      session.emit('answer.completed', { turn, step, blocks: 1, finish: 'stop' });
      session.emit('step.closed', { turn, step, outcome: 'completed' });
    },
  });
}
