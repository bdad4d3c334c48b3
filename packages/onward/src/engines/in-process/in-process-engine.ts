import { isOnwardError, OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import type { Clock, Random } from '../../kernel/ports.ts';
import type { Signal } from '../../kernel/signal.ts';
import type { Advance, CancelRequest, Engine, Work, WorkStatus } from '../engine.ts';
import { cancelMessage, inboxOf, keyOfInbox, messageTo } from '../inbox.ts';
import { isAtRest, newEntry, nextEnd, statusOf, type Entry } from './entry.ts';
import { allDue, deadLease, hasLostRunner, lastPosition, type IsDead } from './find-work.ts';
import { retryDelay } from './retry-delay.ts';

/** What the engine for one process needs. */
export interface InProcessOptions {
  readonly journal: Journal;
  /** The kinds of work it calls; no prefix may be the beginning of another. */
  readonly work: readonly Work[];
  readonly clock: Clock;
  /** Jitter of the delay after a throw; none when absent. */
  readonly random?: Random;
  /** How often the journal is asked for due streams and new messages, in ms. 1000 when absent. */
  readonly pollMs?: number;
  /** Tells whether a lease holder is known to be gone (same host, pid and start time no longer there). */
  readonly isDead?: IsDead;
  /** Told of each throw: of work (with its key), or of the journal while polling (without). */
  readonly onError?: (error: unknown, key?: string) => void;
}

/**
 * The engine for one process. Several may share a journal: the lease that `advance` claims decides between them.
 * It remembers nothing that matters, so what it relies on is that work keeps its rows true:
 * - `advance` claims the stream and, if a live lease refuses it, answers `again(held.expiresAt)`;
 * - a stream is due while its work is not at rest: accepted work sets `due` to now, a wait sets it to `at` in the append
 *   that records the wait, a runner leaves it due, and only the append that records `done` or a wait for somebody
 *   outside clears it (`null`). So whoever polls finds what a dead worker left;
 * - the append that records what came of inbox messages clears the inbox's `due` (see `messageTo`), and unless the work ends
 *   with it, expects the inbox at the last message read: one that came in between must stay due;
 * - the end of a runner is told by `wake`.
 */
export function createInProcessEngine(options: InProcessOptions): Engine {
  return new InProcessEngine(options);
}

class InProcessEngine implements Engine {
  readonly #options: InProcessOptions;
  readonly #pollMs: number;
  readonly #isDead: IsDead;
  readonly #entries = new Map<string, Entry>();
  readonly #stop = new AbortController();
  #polling: Promise<void> | undefined;

  constructor(options: InProcessOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs ?? 1000;
    this.#isDead = options.isDead ?? (() => false);
  }

  async start(): Promise<void> {
    this.#refuseWhenDisposed();
    if (this.#polling !== undefined) return;
    await this.#findOrphans();
    await this.#poll();
    this.#polling ??= this.#keepPolling();
  }

  wake(key: string): void {
    if (this.#stop.signal.aborted) return;
    const entry = this.#entryOf(key);
    entry.wanted = true;
    entry.nap?.abort();
    entry.driving ??= this.#drive(entry);
  }

  async cancel(key: string, request: CancelRequest): Promise<void> {
    this.#refuseWhenDisposed();
    this.#entryOf(key);
    const { journal, clock } = this.#options;
    const appended = await journal.append([messageTo(key, cancelMessage(request), clock.now())]);
    if (!appended.ok) throw new OnwardError('engine/inbox-refused', `The inbox of ${key} takes no message.`);
    this.wake(key);
  }

  list(): readonly WorkStatus[] {
    return [...this.#entries.values()].map(statusOf);
  }

  async settled(key: string, signal: Signal): Promise<Advance> {
    this.#refuseWhenDisposed();
    const entry = this.#entryOf(key);
    if (entry.last === undefined && entry.driving === undefined) this.wake(key);
    while (!isAtRest(entry)) {
      if (signal.aborted) throw signal.reason;
      this.#refuseWhenDisposed();
      await nextEnd(entry, signal);
    }
    return entry.last as Advance;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const entries = [...this.#entries.values()];
    for (const entry of entries) entry.nap?.abort();
    await Promise.all([this.#polling, ...entries.map((entry) => entry.driving)]);
    for (const entry of entries) for (const tell of entry.watchers) tell();
  }

  /** Calls for one key, one call after the other, as long as there is a next call to wait for. */
  async #drive(entry: Entry): Promise<void> {
    while (entry.wanted && !this.#stop.signal.aborted) {
      entry.wanted = false;
      entry.advancing = true;
      await this.#call(entry);
      entry.advancing = false;
      await this.#pause(entry);
    }
    delete entry.driving;
    for (const tell of entry.watchers) tell();
  }

  async #call(entry: Entry): Promise<void> {
    const { signal } = this.#stop;
    try {
      entry.inbox = await lastPosition(this.#options.journal, inboxOf(entry.key), entry.inbox);
      if (signal.aborted) return;
      const result = await entry.work.advance(entry.key, signal);
      if (result.kind === 'again' && Number.isNaN(result.at))
        throw new OnwardError('bug/bad-time', `The work of ${entry.key} asked to be called at no time.`);
      entry.last = result;
      entry.failures = 0;
      delete entry.error;
    } catch (error) {
      if (signal.aborted) return;
      entry.failures += 1;
      entry.error = sentenceOf(error);
      this.#report(error, entry.key);
    }
  }

  /** Waits until the next call is due, if there is one; a wake ends the wait. */
  async #pause(entry: Entry): Promise<void> {
    const { clock, random } = this.#options;
    if (entry.failures > 0) {
      const until = clock.monotonic() + retryDelay(entry.failures, random?.next() ?? 0);
      await this.#pauseUntil(entry, until, () => clock.monotonic());
    } else if (entry.last?.kind === 'again') {
      entry.at = entry.last.at;
      await this.#pauseUntil(entry, entry.at, () => clock.now());
      delete entry.at;
    }
  }

  async #pauseUntil(entry: Entry, until: number, now: () => number): Promise<void> {
    const stopped = this.#stop.signal;
    // At least one turn of the clock, so that work that always asks for another call leaves room for the rest.
    do {
      if (entry.wanted || stopped.aborted) return;
      entry.nap = new AbortController();
      await this.#options.clock.sleep(Math.max(0, until - now()), entry.nap.signal);
      delete entry.nap;
    } while (now() < until);
    entry.wanted = true;
  }

  async #keepPolling(): Promise<void> {
    const { clock, random } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      const pause = failures === 0 ? this.#pollMs : Math.max(this.#pollMs, retryDelay(failures, random?.next() ?? 0));
      await clock.sleep(pause, this.#stop.signal);
      try {
        if (!this.#stop.signal.aborted) await this.#poll();
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#report(error);
      }
    }
  }

  async #poll(): Promise<void> {
    const { journal, clock } = this.#options;
    const now = clock.now();
    // The wall clock may have jumped over a time for which a pause still lasts.
    for (const entry of this.#entries.values()) if (entry.at !== undefined && entry.at <= now) entry.nap?.abort();
    const mail = new Set<Entry>();
    for (const row of await allDue(journal, now)) {
      const inboxKey = keyOfInbox(row.stream);
      const entry = this.#find(inboxKey ?? row.stream);
      if (entry === undefined) continue;
      if (inboxKey !== undefined) mail.add(entry);
      else if (!entry.advancing && entry.due !== row.due) {
        entry.due = row.due;
        this.wake(entry.key);
      }
    }
    for (const entry of this.#entries.values()) if (entry.last?.kind !== 'done') mail.add(entry);
    for (const entry of mail) if (entry.failures === 0 && (await this.#hasNews(entry, now))) this.wake(entry.key);
  }

  async #hasNews(entry: Entry, now: number): Promise<boolean> {
    const { journal } = this.#options;
    try {
      const position = await lastPosition(journal, inboxOf(entry.key), entry.inbox);
      // Erased, and perhaps begun anew: all that is there now is news.
      if (position < entry.inbox) entry.inbox = 0;
      return position > entry.inbox || (await hasLostRunner(journal, entry, now, this.#isDead));
    } catch {
      return true; // The call will meet the same trouble, report it under its key, and leave the key alone for a while.
    }
  }

  async #findOrphans(): Promise<void> {
    const { journal, work, clock } = this.#options;
    for (const { prefix } of work)
      for (const stream of await journal.streams(prefix))
        if (await this.#isOrphan(stream, clock.now())) this.wake(stream);
  }

  async #isOrphan(stream: string, now: number): Promise<boolean> {
    try {
      return (await deadLease(this.#options.journal, stream, now, this.#isDead)) !== undefined;
    } catch {
      return true; // As in `#hasNews`: one damaged stream must not keep the others from being found.
    }
  }

  #find(key: string): Entry | undefined {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const work = this.#options.work.find(({ prefix }) => key.startsWith(prefix));
    if (work === undefined) return undefined;
    const entry = newEntry(key, work);
    this.#entries.set(key, entry);
    return entry;
  }

  #entryOf(key: string): Entry {
    const entry = this.#find(key);
    if (entry !== undefined) return entry;
    throw new OnwardError('engine/unknown-work', `No work of this engine begins like "${key}".`, {
      next: [`Pass work with a fitting prefix; it has: ${this.#options.work.map(({ prefix }) => prefix).join(' ')}`],
    });
  }

  #refuseWhenDisposed(): void {
    if (this.#stop.signal.aborted) throw new OnwardError('engine/disposed', 'The engine has been disposed of.');
  }

  #report(error: unknown, key?: string): void {
    try {
      this.#options.onError?.(error, key);
    } catch {
      // A reporter that fails must not take the work down with it; the status keeps the sentence.
    }
  }
}

/** Work may throw anything, also what cannot be looked at: that must not end the loop which calls it. */
function sentenceOf(error: unknown): string {
  try {
    return error instanceof Error || isOnwardError(error) ? error.message : String(error);
  } catch {
    return 'the work threw something that cannot be put into words';
  }
}
