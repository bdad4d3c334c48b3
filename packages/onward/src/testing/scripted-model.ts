import { OnwardError } from '../kernel/error.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { Signal } from '../kernel/signal.ts';
import type { FinishReason, Model, ModelPart, ModelRequest, Opaque, Usage } from '../models/model.ts';
import { type Gate, untilAborted } from './gate.ts';
import { historyFaults } from './history-faults.ts';

/**
 * One thing that a scripted answer does; a bare text is `{ text }`. `pieces` splits it into that many deltas (default 1).
 * `raw` is a call's input as it is streamed, valid JSON or not; `open` leaves its block without an end.
 */
export type ScriptedItem =
  | string
  | { readonly text: string; readonly pieces?: number; readonly opaque?: Opaque }
  | { readonly thinking: string; readonly pieces?: number; readonly opaque?: Opaque }
  | {
      readonly call: string;
      readonly input?: Json;
      readonly raw?: string;
      readonly id?: string;
      readonly pieces?: number;
      readonly opaque?: Opaque;
      readonly open?: true;
    }
  | { readonly usage: Usage }
  | { readonly finish: FinishReason; readonly usage?: Usage; readonly raw?: string }
  /** Fails in the stream. */
  | { readonly fail: Failure }
  /** Fails by throwing this. */
  | { readonly throw: unknown }
  /** Ends here, without a finish. */
  | { readonly cut: true }
  /** Says nothing more until the signal aborts. */
  | { readonly stall: true }
  /** Goes on when the test opens the gate. */
  | { readonly gate: Gate }
  /** Any part as it is, e.g. one that breaks the grammar. */
  | { readonly part: ModelPart };

/**
 * What one request is answered with: items in order. Without an ending of its own (finish, fail, throw, cut, stall) it
 * finishes: `calls` when there was a call, else `stop`. An empty list is an answer without content. What comes after a
 * finish is streamed nevertheless.
 */
export type ScriptedStep = string | readonly ScriptedItem[];

/** A step for each request in turn, or a function that decides by the request; `nth` counts requests from 1. */
export type ModelScript =
  | readonly (ScriptedStep | ScriptFunction)[]
  | ((request: ModelRequest, nth: number) => ScriptedStep | Promise<ScriptedStep>);

/** Decides by the request. */
export type ScriptFunction = (request: ModelRequest, nth: number) => ScriptedStep | Promise<ScriptedStep>;

/** Options of `createScriptedModel`. */
export interface ScriptedModelOptions {
  /** Default `scripted/model`. */
  readonly id?: string;
  readonly contextTokens?: number;
  /** Refuses what a provider would refuse, with status 400. Default true. */
  readonly strict?: boolean;
  /** Goes on after an abort, as a misbehaving provider would. Default false. */
  readonly ignoresSignal?: boolean;
}

/** A model that does what a test says, and remembers what it was asked. */
export interface ScriptedModel extends Model {
  /** All requests so far, oldest first: frozen copies. */
  readonly requests: readonly ModelRequest[];
  /** What strict mode refused, as sentences. A test that expects a healthy history expects this to be empty. */
  readonly refused: readonly string[];
  /** Streams that have begun and not ended. */
  readonly open: number;
  /** Streams that ended because their signal aborted. */
  readonly aborted: number;
}

/** Makes a model for tests. A request beyond the end of a script throws `testing/script-ended`. */
export function createScriptedModel(script: ModelScript, options: ScriptedModelOptions = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  const refused: string[] = [];
  const count = { open: 0, aborted: 0, calls: 0 };
  const nextId = (): string => `call-${++count.calls}`;

  async function* answer(request: ModelRequest, signal: Signal): AsyncGenerator<ModelPart> {
    requests.push(frozenCopy(request));
    const nth = requests.length;
    const faults = options.strict === false ? [] : historyFaults(request);
    if (faults.length > 0) {
      refused.push(...faults.map((fault) => `request ${nth}: ${fault}`));
      yield failed({ message: faults.join('; ').slice(0, 500), status: 400, type: 'invalid_request_error' });
      return;
    }
    const step = await stepOf(script, request, nth);
    yield* play(typeof step === 'string' ? [step] : step, signal, nextId);
  }

  async function* stream(request: ModelRequest, signal: Signal): AsyncGenerator<ModelPart> {
    count.open += 1;
    const heeded = options.ignoresSignal === true ? never : signal;
    try {
      if (!heeded.aborted)
        for await (const part of answer(request, heeded)) {
          yield part;
          if (heeded.aborted) break;
        }
    } finally {
      count.open -= 1;
      if (heeded.aborted) count.aborted += 1;
    }
  }

  return {
    id: options.id ?? 'scripted/model',
    ...(options.contextTokens === undefined ? {} : { contextTokens: options.contextTokens }),
    requests,
    refused,
    get open() {
      return count.open;
    },
    get aborted() {
      return count.aborted;
    },
    stream,
  };
}

const never: Signal = { aborted: false, reason: undefined, addEventListener: () => {}, removeEventListener: () => {} };

async function stepOf(script: ModelScript, request: ModelRequest, nth: number): Promise<ScriptedStep> {
  const step = typeof script === 'function' ? script : script[nth - 1];
  if (step === undefined)
    throw new OnwardError('testing/script-ended', `Request ${nth} came after the end of the script.`);
  return typeof step === 'function' ? await step(request, nth) : step;
}

async function* play(items: readonly ScriptedItem[], signal: Signal, nextId: () => string): AsyncGenerator<ModelPart> {
  let block = 0;
  let called = false;
  let ended = false;
  yield { type: 'started' };
  for (const written of items) {
    const item = typeof written === 'string' ? { text: written } : written;
    if (signal.aborted) return;
    if ('cut' in item) return;
    if ('throw' in item) throw item.throw;
    if ('stall' in item) {
      await untilAborted(new Promise(() => {}), signal);
      return;
    }
    if ('fail' in item) {
      yield failed(item.fail);
      return;
    }
    if ('gate' in item) await item.gate.wait(signal);
    else if ('part' in item) yield item.part;
    else if ('usage' in item && !('finish' in item)) yield { type: 'usage', usage: item.usage };
    else if ('finish' in item) {
      ended = true;
      yield finishPart(item);
    } else {
      yield* playBlock(item, block, nextId);
      block += 1;
      called ||= 'call' in item;
    }
    ended ||= 'part' in item && (item.part.type === 'finish' || item.part.type === 'failed');
  }
  if (!ended && !signal.aborted) yield { type: 'finish', reason: called ? 'calls' : 'stop' };
}

type BlockItem = Extract<Exclude<ScriptedItem, string>, { readonly pieces?: number }>;

function* playBlock(item: BlockItem, block: number, nextId: () => string): Generator<ModelPart> {
  let text: string;
  if ('call' in item) {
    text = item.raw ?? JSON.stringify(item.input ?? {});
    yield { type: 'block', block, kind: 'call', id: item.id ?? nextId(), tool: item.call };
  } else {
    text = 'text' in item ? item.text : item.thinking;
    yield { type: 'block', block, kind: 'text' in item ? 'text' : 'thinking' };
  }
  for (const piece of split(text, item.pieces ?? 1)) yield { type: 'delta', block, text: piece };
  if ('call' in item && item.open === true) return;
  yield { type: 'end', block, ...(item.opaque === undefined ? {} : { opaque: item.opaque }) };
}

/** Into about equal pieces; never more than there are characters. */
function split(text: string, pieces: number): readonly string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / pieces));
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += size) parts.push(characters.slice(at, at + size).join(''));
  return parts;
}

function finishPart(item: Extract<ScriptedItem, { readonly finish: FinishReason }>): ModelPart {
  const { finish, usage, raw } = item;
  return {
    type: 'finish',
    reason: finish,
    ...(usage === undefined ? {} : { usage }),
    ...(raw === undefined ? {} : { raw }),
  };
}

function failed(failure: Failure): ModelPart {
  return { type: 'failed', failure };
}

/** A frozen copy. What can no longer change is shared, so that a long history is not copied for each request. */
function frozenCopy({ system, messages, tools, settings }: ModelRequest): ModelRequest {
  return Object.freeze({
    system,
    messages: Object.freeze(messages.map(frozen)),
    tools: Object.freeze(tools.map(frozen)),
    settings: frozen(settings),
  });
}

/** The copy that was made of an object last. */
const copies = new WeakMap<object, object>();
/** What is known to be frozen all the way down. */
const deeplyFrozen = new WeakSet();

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || isDeeplyFrozen(value)) return value;
  const last = copies.get(value);
  if (last !== undefined && hasSameFields(value, last)) return last as Value;
  const copy = Array.isArray(value)
    ? value.map(frozen)
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, frozen<unknown>(inner)]));
  deeplyFrozen.add(Object.freeze(copy));
  copies.set(value, copy);
  return copy as Value;
}

/** The copy is still the one that would be made now. */
function hasSameFields(value: object, copy: object): boolean {
  const keys = Object.keys(value);
  if (keys.length !== Object.keys(copy).length) return false;
  return keys.every((key) => frozen(fieldOf(value, key)) === fieldOf(copy, key));
}

function fieldOf(value: object, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key];
}

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || deeplyFrozen.has(value)) return true;
  if (!Object.isFrozen(value) || !Object.values(value).every(isDeeplyFrozen)) return false;
  deeplyFrozen.add(value);
  return true;
}
