import type { Json } from '../kernel/json.ts';
import type { Signal } from '../kernel/signal.ts';
import type { CallPart } from '../models/model.ts';
import { toFailure } from '../models/to-failure.ts';
import { dataOf } from './read-failure.ts';
import type { CallOutcome } from './session-events.ts';
import type { SchemaResult } from './tool.ts';
import type { ToolEntry, ToolSet } from './tool-set.ts';

/** A call that may be dispatched, or what is wrong with it. */
export type PreparedCall =
  | {
      readonly ok: true;
      readonly call: CallPart;
      readonly entry: ToolEntry;
      readonly input: unknown;
      readonly parallel: boolean;
    }
  | { readonly ok: false; readonly call: CallPart; readonly outcome: CallOutcome };

/**
 * Finds the tool and holds the arguments to its schema. Never throws: a schema that does is an invalid input. One that never
 * answers is waited for until the signal aborts.
 */
export async function prepareCall(call: CallPart, tools: ToolSet, signal: Signal): Promise<PreparedCall> {
  const entry = tools.get(call.tool);
  if (entry === undefined) {
    const message = `There is no tool ${call.tool}. There are: ${[...tools.keys()].join(', ') || 'none'}.`;
    return { ok: false, call, outcome: { ok: false, code: 'unknown-tool', message } };
  }
  const checked = await unlessAborted(validate(entry, call.input), signal);
  if (typeof checked === 'string')
    return { ok: false, call, outcome: { ok: false, code: 'invalid-input', message: checked } };
  return { ok: true, call, entry, input: checked.value, parallel: isParallel(entry, checked.value) };
}

async function validate(entry: ToolEntry, input: Json): Promise<string | { readonly value: unknown }> {
  try {
    const result = (await entry.tool.input['~standard'].validate(input)) as SchemaResult<unknown>;
    if (typeof result !== 'object') return 'The arguments could not be checked: the schema says nothing of them.';
    if (result.issues === undefined) return { value: result.value };
    const issues = result.issues.slice(0, 10).map(({ message, path }) => {
      const at = (path ?? []).map((piece) => pathPiece(piece)).join('.');
      return at === '' ? message : `${at}: ${message}`;
    });
    return `The arguments do not fit: ${issues.join('; ')}`.slice(0, 2_000).toWellFormed();
  } catch (error) {
    return `The arguments could not be checked: ${messageOf(error)}`;
  }
}

async function unlessAborted<Value>(promise: Promise<Value>, signal: Signal): Promise<Value | string> {
  const { promise: aborted, resolve } = Promise.withResolvers<string>();
  const stop = (): void => resolve('The turn was cancelled while the arguments were checked.');
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function pathPiece(piece: unknown): string {
  return String(typeof piece === 'object' && piece !== null && 'key' in piece ? piece.key : piece);
}

/** Only a plain `true` makes a call parallel; whatever else happens, it runs alone. */
function isParallel(entry: ToolEntry, input: unknown): boolean {
  const { parallel } = entry.tool;
  if (typeof parallel !== 'function') return parallel === true;
  try {
    return (parallel(input) as unknown) === true;
  } catch {
    return false;
  }
}

/** The message of whatever was thrown, without running code of it; at most 500 characters, and no half of one. */
export function messageOf(error: unknown): string {
  const own = typeof error === 'string' ? error : dataOf(error, 'message');
  return typeof own === 'string' && own.trim() !== '' ? own.slice(0, 500).toWellFormed() : toFailure(error).message;
}
