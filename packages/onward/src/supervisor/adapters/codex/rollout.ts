import type { DeniedCall } from '../../../kernel/failure.ts';
import { deniedCalls, type RolloutLine } from './denied-calls.ts';
import { asNumber, asObject, asString, parseObject } from './json-shape.ts';

/** What the end of codex's own session file says about its last turn. */
export interface RolloutFacts {
  /** `codex_error_info` of the last turn's end, e.g. `server_overloaded`. */
  readonly info?: string;
  /** HTTP status inside `codex_error_info`. */
  readonly status?: number;
  /** The error's sentence; equal to that of `turn.failed`. */
  readonly message?: string;
  /** When the turn ended, ms since the epoch. */
  readonly endedAt?: number;
  /** Window of a usage limit: when it ends (ms since the epoch), and whether it is used up. */
  readonly limit?: { readonly resetsAt: number; readonly usedUp: boolean };
  readonly denied: readonly DeniedCall[];
}

/**
 * Reads the tail of a rollout file (its first line may be cut). Only lines after the last `task_started` tell how this attempt
 * ended: what earlier turns of the same conversation met is not its own. A call that was denied in an attempt which then
 * failed still counts, since no later turn need mention it. Never throws.
 */
export function readRollout(tail: string): RolloutFacts {
  const lines = tail.split('\n').flatMap(readLine);
  const start = Math.max(
    0,
    lines.findLastIndex((line) => line.payload['type'] === 'task_started'),
  );
  const turn = lines.slice(start);
  const end = turn.findLast(isEnd)?.payload;
  const error = asObject(end?.['error']);
  const endedAt = asNumber(end?.['completed_at']);
  const limit = readLimit(turn);
  const message = asString(error?.['message']);
  const settled = lines.slice(0, start).findLastIndex(isSuccess);
  return {
    ...readInfo(error?.['codex_error_info']),
    ...(message === undefined ? {} : { message }),
    ...(endedAt === undefined ? {} : { endedAt: endedAt * 1_000 }),
    ...(limit === undefined ? {} : { limit }),
    denied: deniedCalls(lines.slice(settled + 1)),
  };
}

function isEnd(line: RolloutLine): boolean {
  return line.payload['type'] === 'task_complete';
}

function isSuccess(line: RolloutLine): boolean {
  if (!isEnd(line) || asObject(line.payload['error']) !== undefined) return false;
  return (asString(line.payload['last_agent_message']) ?? '') !== '';
}

function readLine(text: string): RolloutLine[] {
  const line = parseObject(text);
  const type = asString(line?.['type']);
  const payload = asObject(line?.['payload']);
  return type === undefined || payload === undefined ? [] : [{ type, payload }];
}

/** `"other"` or `{"http_connection_failed":{"http_status_code":529}}`. */
function readInfo(value: unknown): { readonly info?: string; readonly status?: number } {
  const plain = asString(value);
  if (plain !== undefined) return { info: plain };
  const tagged = asObject(value);
  const info = tagged === undefined ? undefined : Object.keys(tagged)[0];
  if (tagged === undefined || info === undefined) return {};
  const status = asNumber(asObject(tagged[info])?.['http_status_code']);
  return { info: info.toWellFormed(), ...(status === undefined ? {} : { status }) };
}

/** The used-up window of the last `token_count`; of two such windows the later end. */
function readLimit(turn: readonly RolloutLine[]): RolloutFacts['limit'] {
  const last = asObject(
    turn.findLast((line) => asObject(line.payload['rate_limits']) !== undefined)?.payload['rate_limits'],
  );
  const windows = ['primary', 'secondary'].flatMap((name) => {
    const window = asObject(last?.[name]);
    const resetsAt = asNumber(window?.['resets_at']);
    if (resetsAt === undefined) return [];
    return [{ resetsAt: resetsAt * 1_000, usedUp: (asNumber(window?.['used_percent']) ?? 0) >= 100 }];
  });
  const usedUp = windows.filter((window) => window.usedUp).toSorted((a, b) => b.resetsAt - a.resetsAt);
  return usedUp[0] ?? windows[0];
}
