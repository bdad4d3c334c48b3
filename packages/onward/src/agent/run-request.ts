import type { Failure } from '../kernel/failure.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Model, ModelPart, ModelRequest, TextPart, ThinkingPart, Usage } from '../models/model.ts';
import { toFailure } from '../models/to-failure.ts';
import { type Answer, type AnswerPart, type Assembled, Assembler } from './assemble.ts';

/** How long a provider may be silent, ms; 0 = for ever. Only parts of the answer count as signs of life. */
export interface Watchdogs {
  /** Until the first part. */
  readonly headersMs: number;
  /** Between parts. */
  readonly idleMs: number;
}

/** How one attempt ended. `aborted` only by the caller's signal; then `visible` is what a reader had seen. */
export type RequestOutcome =
  | { readonly kind: 'completed'; readonly answer: Answer }
  /** `parts` are the complete blocks of the failed attempt: for the record, never for the history. */
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      readonly parts: readonly AnswerPart[];
      readonly usage?: Usage;
    }
  | { readonly kind: 'aborted'; readonly visible: readonly (TextPart | ThinkingPart)[]; readonly usage?: Usage };

interface Attempt {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly signal: Signal;
  readonly clock: Clock;
  readonly watchdogs: Watchdogs;
  /** Told of each delta, as it comes. */
  readonly onPart: (assembled: Assembled) => void;
}

/** Without a reason an abort makes an error with a stack, for each attempt. */
const over = Object.freeze({ name: 'AbortError', message: 'The attempt is over.' });

/** After the finish a stream has this long to end; its answer counts either way. */
const closingMs = 5_000;

/** Makes one attempt and reads it to its end. Never throws. Resolves at once on abort, whatever the model does. */
export async function runRequest(attempt: Attempt): Promise<RequestOutcome> {
  const { signal, clock } = attempt;
  const transport = new AbortController();
  const gate = createGate();
  const stop = (): void => {
    transport.abort(signal.reason);
    gate.open();
  };
  signal.addEventListener('abort', stop, { once: true });
  const timing = watch(attempt, () => {
    transport.abort(new Error('The provider was silent for too long.'));
    gate.open();
  });
  const assembler = new Assembler();
  try {
    if (signal.aborted) return { kind: 'aborted', visible: [] };
    const outcome = await read(attempt, { assembler, transport, gate, timing });
    return outcome;
  } catch (error) {
    if (signal.aborted) return aborted(assembler);
    return failed(toFailure(error, clock.now()), assembler);
  } finally {
    timing.end();
    signal.removeEventListener('abort', stop);
    // A stream that has ended by itself has nothing left to end, and an abort costs more than it looks.
    if (!assembler.ended) transport.abort(over);
  }
}

interface Reading {
  readonly assembler: Assembler;
  readonly transport: AbortController;
  readonly gate: Gate;
  readonly timing: Timing;
}

async function read(attempt: Attempt, reading: Reading): Promise<RequestOutcome> {
  const { assembler, gate, timing, transport } = reading;
  const iterator = attempt.model.stream(attempt.request, transport.signal)[Symbol.asyncIterator]();
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one part after the other is what a stream is
    const next = await gate.race(iterator.next());
    if (next === opened || attempt.signal.aborted) {
      leave(iterator);
      return attempt.signal.aborted ? aborted(assembler) : stalled(assembler, timing, attempt.watchdogs);
    }
    if (next.done === true) {
      assembler.ended = true;
      return ended(assembler);
    }
    timing.alive(assembler.finished);
    const assembled = assembler.push(next.value, attempt.clock.now());
    if (assembled.kind === 'failed') {
      leave(iterator);
      return failed(assembled.failure, assembler);
    }
    attempt.onPart(assembled);
    timing.alive(assembler.finished);
  }
}

/** Ends a stream that is no longer read. It may not listen; nobody waits for it. */
function leave(iterator: AsyncIterator<ModelPart>): void {
  try {
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  } catch {
    // It is left already.
  }
}

function ended(assembler: Assembler): RequestOutcome {
  const result = assembler.result();
  return result.ok ? { kind: 'completed', answer: result.answer } : failed(result.failure, assembler);
}

function stalled(assembler: Assembler, timing: Timing, watchdogs: Watchdogs): RequestOutcome {
  if (assembler.finished) return ended(assembler);
  const [ms, what] = timing.heard() ? [watchdogs.idleMs, 'went silent'] : [watchdogs.headersMs, 'did not answer'];
  return failed({ message: `The provider ${what} for ${ms} ms.`, type: 'timeout_error' }, assembler);
}

function aborted(assembler: Assembler): RequestOutcome {
  return { kind: 'aborted', visible: assembler.visible(), ...usageOf(assembler) };
}

function failed(failure: Failure, assembler: Assembler): RequestOutcome {
  return { kind: 'failed', failure, parts: assembler.parts(), ...usageOf(assembler) };
}

function usageOf(assembler: Assembler): { readonly usage?: Usage } {
  return assembler.usage === undefined ? {} : { usage: assembler.usage };
}

/** What a race gives when the gate was opened: nothing that a stream can say. */
const opened: unique symbol = Symbol('opened');

interface Gate {
  /** The value, or {@link opened} as soon as the gate opens. A promise left behind is quiet. */
  race<Value>(promise: Promise<Value>): Promise<Value | typeof opened>;
  open(): void;
}

/** A race against one event that leaves nothing behind on it, however many times it is run. */
function createGate(): Gate {
  let isOpen = false;
  let onOpen: (() => void) | undefined;
  return {
    async race(promise) {
      if (isOpen) {
        promise.catch(() => undefined);
        return opened;
      }
      try {
        return await new Promise((resolve, reject) => {
          onOpen = () => resolve(opened);
          promise.then(resolve, reject);
        });
      } finally {
        onOpen = undefined;
      }
    },
    open() {
      isOpen = true;
      onOpen?.();
    },
  };
}

interface Timing {
  /** A part came. */
  alive(finished: boolean): void;
  heard(): boolean;
  end(): void;
}

/** One timer for a whole attempt: it looks again at the time that the last part allows, so that a part costs nothing. */
function watch(attempt: Attempt, expire: () => void): Timing {
  const { clock, watchdogs } = attempt;
  const done = new AbortController();
  let [last, heard, finished] = [clock.monotonic(), false, false];
  const shortest = Math.min(...[watchdogs.headersMs, watchdogs.idleMs].filter((ms) => ms > 0));
  const limit = (): number => (finished ? closingMs : heard ? watchdogs.idleMs : watchdogs.headersMs);
  const run = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const left = limit() === 0 ? shortest : last + limit() - clock.monotonic();
      if (left <= 0) return expire();
      // oxlint-disable-next-line no-await-in-loop -- the timer runs again for what is left
      await clock.sleep(Math.min(left, shortest), done.signal);
    }
  };
  if (watchdogs.headersMs > 0 || watchdogs.idleMs > 0) void run();
  return {
    alive(isFinished) {
      [last, heard] = [clock.monotonic(), true];
      if (isFinished && !finished) {
        finished = true;
        void run();
      }
    },
    heard: () => heard,
    end: () => done.abort(over),
  };
}
