import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OnwardError } from '../../kernel/error.ts';
import type { OnCommit, Write } from '../commit.ts';
import type { FileGuard } from './file-guard.ts';
import { type Patience, whileBusy } from './retry.ts';
import { toOnwardError } from './sqlite-error.ts';

/** Work inside a transaction: what it returns, and what it wrote. Synchronous, so that nothing comes between. */
export type Work<T> = () => { readonly value: T; readonly writes: readonly Write[] };

interface Job {
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome =
  | { readonly job: Job; readonly ok: true; readonly value: unknown; readonly writes: readonly Write[] }
  | { readonly job: Job; readonly ok: false; readonly error: unknown };

/** What the queue needs of its connection. */
export interface QueueOptions {
  readonly db: DatabaseSync;
  readonly guard: FileGuard;
  readonly patience: Patience;
  readonly onCommit: OnCommit | undefined;
}

/** One transaction carries at most so much work, so that the event loop is not held for long. */
const LARGEST_GROUP = 128;

/**
 * Commits work in groups: whatever is asked for while a commit is under way shares the next one, and so one flush of the
 * disk. Each piece has a savepoint of its own: one that fails undoes only itself.
 */
export class CommitQueue {
  readonly #options: QueueOptions;
  readonly #waiting: Job[] = [];
  #pumping: Promise<void> | undefined;
  #commits = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Runs the work in a transaction, and resolves when it is durable. */
  submit<T>(work: Work<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ work, resolve, reject });
    this.#pumping ??= this.#pump();
    return promise;
  }

  /** Resolves when nothing is queued. */
  async drained(): Promise<void> {
    while (this.#pumping !== undefined) await this.#pumping;
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Whoever was woken by the last commit gets the chance to join the next.
      await nextTurn();
      await this.#commitNext(() => this.#waiting.splice(0, LARGEST_GROUP));
    }
    this.#pumping = undefined;
  }

  /** Takes jobs only when the lock is there, so that those who came while it was awaited share the commit. */
  async #commitNext(take: () => readonly Job[]): Promise<void> {
    const { db, guard, patience } = this.#options;
    try {
      guard.check();
      await whileBusy(patience, () => db.exec('begin immediate'));
    } catch (error) {
      this.#rejectAll(take(), error);
      return;
    }
    const jobs = take();
    try {
      this.#finish(jobs.map((job) => this.#run(job, jobs.length > 1)));
    } catch (error) {
      this.#rollback();
      if (error instanceof BrokenGroup && jobs.length > 1) {
        // The guilty one took the whole transaction with it: each gets one of its own.
        for (const job of jobs) await this.#commitNext(() => [job]);
      } else {
        this.#rejectAll(jobs, error instanceof BrokenGroup ? error.cause : error);
      }
    }
  }

  /** Runs one piece of work. A refusal undoes it alone; an error of SQLite breaks the group. */
  #run(job: Job, inGroup: boolean): Outcome {
    const { db } = this.#options;
    if (inGroup) db.exec('savepoint job');
    let outcome: Outcome;
    try {
      outcome = { job, ok: true, ...job.work() };
    } catch (error) {
      if (!(error instanceof OnwardError)) throw new BrokenGroup(error);
      outcome = { job, ok: false, error };
      if (inGroup) db.exec('rollback to job');
    }
    if (inGroup) db.exec('release job');
    return outcome;
  }

  #finish(outcomes: readonly Outcome[]): void {
    const { db, guard, onCommit } = this.#options;
    const writes = outcomes.flatMap((outcome) => (outcome.ok ? outcome.writes : []));
    if (writes.length === 0) {
      db.exec('rollback');
    } else {
      const commit = { number: this.#commits + 1, writes };
      onCommit?.('before', commit);
      db.exec('commit');
      this.#commits = commit.number;
      // What went into a file that is no longer there is not acknowledged.
      guard.check();
      onCommit?.('after', commit);
    }
    for (const outcome of outcomes) {
      if (outcome.ok) outcome.job.resolve(outcome.value as never);
      else outcome.job.reject(outcome.error);
    }
  }

  #rollback(): void {
    const { db } = this.#options;
    try {
      db.exec('rollback');
    } catch {
      // SQLite has undone it already. The error that led here is the one to report.
    }
  }

  #rejectAll(jobs: readonly Job[], error: unknown): void {
    const reported = toOnwardError(error, this.#options.patience.path);
    for (const job of jobs) job.reject(reported);
  }
}

/** An error inside the work of a group that is no refusal. */
class BrokenGroup extends Error {
  constructor(cause: unknown) {
    super('a piece of work failed', { cause });
  }
}
