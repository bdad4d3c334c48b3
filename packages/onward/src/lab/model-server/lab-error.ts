/** Why the lab refused to do something. */
export type LabErrorCode = 'lab.bad-script' | 'lab.port-unavailable' | 'lab.closed' | 'lab.unknown-scenario';

/**
 * A misuse of the lab: a script that makes no sense, a port that cannot be had, a server that is closed.
 * Faults that the lab plays on purpose are never thrown.
 */
export class LabError extends Error {
  readonly code: LabErrorCode;
  /** What to do about it, one sentence each. */
  readonly next: readonly string[];

  constructor(code: LabErrorCode, message: string, next: readonly string[] = []) {
    super(message);
    this.name = 'LabError';
    this.code = code;
    this.next = next;
  }
}
