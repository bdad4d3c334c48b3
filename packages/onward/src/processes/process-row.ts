/** One live process as the system lists it. Zombies are not live. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it was started, in the platform's own words: two processes that had the same pid differ in it. */
  readonly startedAt: string;
  /** The same as clock ticks since boot (10 ms), where the system tells. */
  readonly ticks: number | undefined;
  /** The short name of the program, for messages. */
  readonly name: string;
  /** A thread of the kernel, which has neither program nor environment. */
  readonly isKernel: boolean;
}
