/** What a program under test is given. All of them do the same task with the same tool. */
export interface Task {
  readonly baseUrl: string;
  readonly prompt: string;
  /** The body of the tool `record`: appends a line outside the process and returns the receipt. */
  record(id: string): Promise<string>;
  /** Whether that line is there: what a service could be asked. */
  isRecorded(id: string): boolean;
  /** A folder that outlives the process, where the case needs one. */
  readonly store?: string;
  /** An earlier process of the same case was killed; go on from the store. */
  readonly resume: boolean;
  /** Documented time-outs of 10 s against silence, where the library has them; otherwise its defaults. */
  readonly timeouts: boolean;
  /** Instead of the network: a model that answers at once, in this process. */
  readonly fetch?: typeof globalThis.fetch;
  /** Text for the person who watches, as the library streams it. */
  show(text: string): void;
}

/** How a program says that the task ended. Throwing is an error that reached it. */
export interface Ending {
  /** What the library returned as its result: the final text. */
  readonly text: string;
  /** An error that only a callback heard of, while the result looks like success. */
  readonly hidden?: unknown;
  /** What a consumer has on screen that takes back what was superseded; where there is none, all that was shown counts. */
  readonly onScreen?: string;
  /** What a consumer prints that waits for finished answers; only where the library offers both. */
  readonly printed?: string;
}

/** One library's way of doing the task. */
export type Program = (task: Task) => Promise<Ending>;

/** What the tool says of itself to a model. */
export const toolDescription = 'Records one item. Call it once for each item.';

/**
 * The name of a module as a name that the compiler does not follow: the peers are installed only by the script that needs them,
 * and what is checked should not depend on whether they are.
 */
export function peerModule(name: string): string {
  return name;
}
