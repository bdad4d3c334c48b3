import type { Json } from './json.ts';

/** An event as its writer hands it over. The folder that owns `type` owns the shape of `data` for each version `v`. */
export interface NewEvent<Type extends string = string, Data extends Json = Json> {
  /** `subject.happened`, e.g. `attempt.started`. */
  readonly type: Type;
  /** Version of the shape of `data`, from 1. A reader that knows only older ones refuses the stream. */
  readonly v: number;
  readonly data: Data;
  /** Identity of a message to an inbox: a second message with the same id is dropped, and the append says so. */
  readonly id?: string;
  /** Set by a writer whose event a reader may skip when it does not know its type or version. */
  readonly ignorable?: true;
}

/** An event as it lies in a stream: the envelope around what the writer gave. */
export interface StoredEvent<Type extends string = string, Data extends Json = Json> extends NewEvent<Type, Data> {
  readonly stream: string;
  /** Place in its stream, gapless from 1. There is no position across streams. */
  readonly position: number;
  /** Wall clock of the append, ms since the epoch. For people; order comes from `position`. */
  readonly at: number;
  /** Epoch of the lease under which it was written; absent in unleased streams. */
  readonly epoch?: number;
}
