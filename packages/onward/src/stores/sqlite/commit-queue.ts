import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OnwardError } from '../../kernel/error.ts';
import type { OnCommit, Write } from '../commit.ts';
import type { FileGuard } from './file-guard.ts';
import { type Patience, rollBack, whileBusy } from './retry.ts';
import type { SchemaCheck } from './schema.ts';
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
  readonly schema: SchemaCheck;
  readonly patience: Patience;
  readonly onCommit: OnCommit | undefined;
}

/** One transaction carries at most so much work, so that the event loop is not held for long. */
const LARGEST_GROUP = 128;

/** A turn of the event loop costs about a tenth of a commit. */
const COMMITS_PER_TURN = 8;

/**
 * Commits work in groups: whatever is asked for while a commit is under way shares the next one, and so one flush of the
 * disk. Each piece has a savepoint of its own: one that fails undoes only itself.
 */
export class CommitQueue {
  readonly #options: QueueOptions;
  readonly #waiting: Job[] = [];
  #pumping: Promise<void> | undefined;
  #commits = 0;
  #turns = 0;

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
    // Whoever was woken by the last commit joins the next, and a lone writer does not keep timers and input waiting.
    while (this.#waiting.length > 0) {
      this.#turns += 1;
      await (this.#turns % COMMITS_PER_TURN === 0 ? nextTurn() : undefined);
      await this.#commitNext(() => this.#waiting.splice(0, LARGEST_GROUP));
    }
    this.#pumping = undefined;
  }

  async #commitNext(take: () => readonly Job[]): Promise<void> {
    const { db, patience } = this.#options;
    let broken: readonly Job[] = [];
    try {
      // Begun and ended without an await: a read of this connection must not fall into the transaction.
      await whileBusy(patience, () => {
        db.exec('begin immediate');
        // Taken now that the lock is there, so that those who came while it was awaited share the commit.
        broken = this.#commit(take());
      });
    } catch (error) {
      // Nobody else need wait as long for the same answer.
      this.#rejectAll([...take(), ...this.#waiting.splice(0)], error);
    }
    for (const job of broken) await this.#commitNext(() => [job]);
  }

  /** Runs a group and ends the transaction, whatever happens. Returns the jobs to try again, each alone. */
  #commit(jobs: readonly Job[]): readonly Job[] {
    try {
      this.#options.schema.check();
      this.#finish(jobs.map((job) => this.#run(job, jobs.length > 1)));
    } catch (error) {
      rollBack(this.#options.db);
      // The guilty one took the whole transaction with it.
      if (error instanceof BrokenGroup && jobs.length > 1) return jobs;
      this.#rejectAll(jobs, error instanceof BrokenGroup ? error.cause : error);
    }
    return [];
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
    // Nothing is written to, let alone acknowledged from, a file that is no longer the journal.
    guard.check();
    if (writes.length === 0) {
      db.exec('rollback');
    } else {
      const commit = { number: this.#commits + 1, writes };
      onCommit?.('before', commit);
      db.exec('commit');
      this.#commits = commit.number;
      onCommit?.('after', commit);
    }
    for (const outcome of outcomes) {
      if (outcome.ok) outcome.job.resolve(outcome.value as never);
      else outcome.job.reject(outcome.error);
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
