/** What a thrown error of ours carries besides its sentence. */
export interface ErrorDetails {
  /** What a person can do next: sentences or commands, most useful first. */
  readonly next?: readonly string[];
  /** Where the fault is: a file and line, a stream and position, a flag, a field path. */
  readonly place?: string;
  readonly cause?: unknown;
}

/**
 * Misuse, bad input or a broken environment. Expected failures of the work itself are values (`Failure`), never this.
 * Route on `code`, which is stable; the sentence may change.
 */
export class OnwardError extends Error {
  override readonly name = 'OnwardError';
  readonly code: string;
  readonly next: readonly string[];
  readonly place: string | undefined;
  /** The brand survives two copies of this package in one program, where `instanceof` would not. */
  readonly brand = 'onward.error';

  constructor(code: string, sentence: string, details: ErrorDetails = {}) {
    super(sentence, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.next = details.next ?? [];
    this.place = details.place;
  }
}

/** True for an `OnwardError` of this or another copy of the package; with `code`, only for that one. */
export function isOnwardError(error: unknown, code?: string): error is OnwardError {
  if (typeof error !== 'object' || error === null || !('brand' in error)) return false;
  if (error.brand !== 'onward.error') return false;
  return code === undefined || (error as OnwardError).code === code;
}

/** Ends a `switch` over a closed union: the compiler refuses a missing case, and a value from outside is named. */
export function assertNever(value: never, what: string): never {
  throw new OnwardError('bug/unhandled-case', `${what} met a value it does not know: ${inWords(value)}`);
}

/** What JSON cannot say (a cycle, a bigint) must not hide the real error behind one of its own. */
function inWords(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 200);
  } catch {
    return typeof value;
  }
}
