import type { Settlement } from '../agent/index.ts';
import { assertNever } from '../kernel/error.ts';
import type { FailureClass } from '../kernel/failure.ts';
import type { RunResult } from '../supervisor/index.ts';

/** The names of the ends that have an exit status of their own. */
export type ExitName =
  | 'done'
  | 'failed'
  | 'usage'
  | 'needsHuman'
  | 'provider'
  | 'limit'
  | 'expectation'
  | 'held'
  | 'parked'
  | 'interrupted'
  | 'terminated';

/** One end: its exit status, a word or two for the help, and the meaning in full. */
export interface ExitCode {
  readonly code: number;
  readonly short: string;
  readonly meaning: string;
}

/** What the exit status of `onward` means. The one table: README, help and tests are checked against it. */
export const exitCodes: Readonly<Record<ExitName, ExitCode>> = {
  done: { code: 0, short: 'done', meaning: 'done, with evidence' },
  failed: { code: 1, short: 'failed', meaning: 'failed for good, or cancelled' },
  usage: { code: 2, short: 'wrong usage', meaning: 'wrong usage or configuration' },
  needsHuman: {
    code: 3,
    short: 'needs a human',
    meaning: 'needs a human: login, denied tools, unknown outcome, question',
  },
  provider: { code: 4, short: 'provider failing', meaning: 'the provider is still failing' },
  limit: { code: 5, short: 'limit', meaning: 'a limit is reached' },
  expectation: { code: 6, short: 'expectation', meaning: 'the expectation is not met' },
  held: { code: 7, short: 'held', meaning: 'a live process holds it' },
  parked: { code: 75, short: 'parked', meaning: 'parked until later' },
  interrupted: { code: 130, short: 'interrupted', meaning: 'interrupted (Ctrl-C) and checkpointed' },
  terminated: { code: 143, short: 'terminated', meaning: 'terminated (SIGTERM, SIGHUP) and checkpointed' },
};

/** What can end the supervision from outside. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The exit status for being stopped by a signal. */
export function exitCodeOfSignal(signal: StopSignal | undefined): number {
  return signal === 'SIGTERM' || signal === 'SIGHUP' ? exitCodes.terminated.code : exitCodes.interrupted.code;
}

/** The exit status for the end of a run. `signal` is what interrupted it, if anything did. */
export function exitCodeOf(result: RunResult, signal?: StopSignal): number {
  switch (result.status) {
    case 'done':
      return exitCodes.done.code;
    case 'failed':
      return result.classification?.class === 'quality' ? exitCodes.expectation.code : exitCodes.failed.code;
    case 'cancelled':
      return exitCodes.failed.code;
    case 'paused':
      return pausedCode(result, signal);
    default:
      return assertNever(result, 'exitCodeOf');
  }
}

function pausedCode(result: Extract<RunResult, { status: 'paused' }>, signal: StopSignal | undefined): number {
  switch (result.reason) {
    case 'needs-human':
      return exitCodes.needsHuman.code;
    case 'provider':
      return exitCodes.provider.code;
    case 'limit':
      return exitCodes.limit.code;
    case 'held':
      return exitCodes.held.code;
    case 'parked':
      return exitCodes.parked.code;
    case 'interrupted':
      return exitCodeOfSignal(signal);
    default:
      return assertNever(result.reason, 'exitCodeOf');
  }
}

/** The exit status for the end of a prompt of a session. `signal` is what interrupted it here, if anything did. */
export function exitCodeOfSettlement(settlement: Settlement, signal?: StopSignal): number {
  switch (settlement.kind) {
    case 'done':
      return exitCodes.done.code;
    case 'waiting':
      return exitCodes.needsHuman.code;
    case 'failed':
      return failedCode(settlement.class, settlement.retryAt !== undefined);
    case 'cancelled':
      // Cancelled from elsewhere it is over; by a signal to this process it can go on.
      return signal === undefined ? exitCodes.failed.code : exitCodeOfSignal(signal);
    case 'limit':
      return exitCodes.limit.code;
    case 'interrupted':
      return exitCodes.needsHuman.code;
    case 'incomplete':
    case 'blocked':
      return exitCodes.failed.code;
    default:
      return assertNever(settlement, 'exitCodeOfSettlement');
  }
}

function failedCode(kind: FailureClass, isTimed: boolean): number {
  switch (kind) {
    case 'transient':
    case 'throttled':
    case 'crash':
      return exitCodes.provider.code;
    case 'quota':
      return isTimed ? exitCodes.parked.code : exitCodes.provider.code;
    case 'billing':
    case 'auth':
    case 'outcome-unknown':
    case 'context-lost':
      return exitCodes.needsHuman.code;
    case 'quality':
      return exitCodes.expectation.code;
    case 'input':
    case 'overflow':
    case 'policy':
    case 'conflict':
    case 'incomplete':
    case 'unclassified':
      return exitCodes.failed.code;
    default:
      return assertNever(kind, 'exitCodeOfSettlement');
  }
}

/** The exit status for an error of our own, by its code. */
export function exitCodeOfError(code: string): number {
  switch (code) {
    case 'run/held':
    case 'session/held':
      return exitCodes.held.code;
    case 'run/changed':
    case 'run/other-host':
      return exitCodes.needsHuman.code;
    default:
      return code.startsWith('bug/') ? exitCodes.failed.code : exitCodes.usage.code;
  }
}
