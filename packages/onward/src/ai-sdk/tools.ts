import type { AnyTool, Approval, ToolContext } from '../agent/index.ts';
import { OnwardError } from '../kernel/error.ts';
import { findNonJson, type Json } from '../kernel/json.ts';
import type { Signal } from '../kernel/signal.ts';
import { toModelJson } from './tool-output.ts';
import { toToolSchema } from './tool-schema.ts';

/** As much of a tool of the AI SDK as is looked at. Every `ToolSet` of `ai` 7 is a record of these. */
export interface AiSdkTool {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly contextSchema?: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
}

/** What the AI SDK has no word for, by the name of the tool. */
export interface FromAiSdkToolsOptions {
  /** What a tool does to the world. Default `untracked`: something, so after a crash its outcome is unknown. */
  readonly effects?: { readonly [tool: string]: NonNullable<AnyTool['effect']> };
  /** When a person must agree; instead of the tool's own `needsApproval`. */
  readonly approvals?: { readonly [tool: string]: NonNullable<AnyTool['approval']> };
  /** Tools that may run beside others, as all do in the AI SDK. Default: none. */
  readonly parallel?: readonly string[];
}

/**
 * Tools made with `tool()` of the AI SDK, for an agent of ours. `execute` is called with `toolCallId`, `abortSignal` and
 * no `messages`; of one that yields results, the last counts. `needsApproval` becomes a question, and one that answers
 * with a promise always asks. Throws `ai-sdk/bad-tool` with the place for tools without `execute`, tools of a provider,
 * tools that need a context, and names in the options that no tool has.
 */
export function fromAiSdkTools(
  tools: { readonly [name: string]: AiSdkTool },
  options: FromAiSdkToolsOptions = {},
): AnyTool[] {
  const named = [
    ...Object.keys(options.effects ?? {}),
    ...Object.keys(options.approvals ?? {}),
    ...(options.parallel ?? []),
  ];
  for (const name of named) if (!Object.hasOwn(tools, name)) throw bad(name, 'is named in the options, and is no tool');
  return Object.entries(tools).map(([name, tool]) => convert(name, tool, options));
}

function convert(name: string, tool: AiSdkTool, options: FromAiSdkToolsOptions): AnyTool {
  if (typeof tool !== 'object' || tool === null) throw bad(name, 'must be a tool made with tool()');
  const { type, description, execute, contextSchema } = tool;
  if (type !== undefined && type !== 'function' && type !== 'dynamic')
    throw bad(name, 'must not be a tool of a provider, which is not run here');
  if (typeof execute !== 'function')
    throw bad(`${name}.execute`, 'must be a function: nobody else would answer the call', [
      'Leave out tools that run in the browser, or give them an execute() that asks it.',
    ]);
  if (description !== undefined && typeof description !== 'string') throw bad(`${name}.description`, 'must be a text');
  if (contextSchema !== undefined) throw bad(`${name}.contextSchema`, 'must not be there: an agent has no context');
  const schema = toToolSchema(tool.inputSchema);
  if (typeof schema === 'string') throw bad(`${name}.inputSchema`, `must be ${schema}`);
  const approval = options.approvals?.[name] ?? approvalOf(tool.needsApproval);
  const effect = options.effects?.[name];
  return {
    name,
    description: description ?? '',
    ...schema,
    ...(effect === undefined ? {} : { effect }),
    ...(approval === undefined ? {} : { approval }),
    ...(options.parallel?.includes(name) === true ? { parallel: true } : {}),
    run: async (input, context) => await run(tool, execute as Execute, input, context),
  };
}

type Execute = (input: unknown, options: object) => unknown;

async function run(tool: AiSdkTool, execute: Execute, input: unknown, context: ToolContext): Promise<Json> {
  const { callId: toolCallId } = context;
  const abortSignal = toAbortSignal(context.signal);
  const made = await execute(input, { toolCallId, messages: [], abortSignal, context: undefined });
  const output = toPlain(isIterable(made) ? await lastOf(made, abortSignal) : made);
  return typeof tool.toModelOutput === 'function'
    ? toModelJson(await (tool.toModelOutput as (said: object) => unknown)({ toolCallId, input, output }))
    : (output as Json);
}

/** Dates, `undefined` and the like as JSON has them, which is what the AI SDK sends. What is none stays, to be refused. */
function toPlain(output: unknown): unknown {
  if (output === undefined) return null;
  if (findNonJson(output) === undefined) return output;
  try {
    return JSON.parse(JSON.stringify(output)) as unknown;
  } catch {
    return output;
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function lastOf(values: AsyncIterable<unknown>, signal: AbortSignal): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    signal.throwIfAborted();
    last = value;
  }
  return last;
}

function approvalOf(needs: unknown): Approval<unknown> | undefined {
  if (needs === undefined || needs === false) return undefined;
  const version = 'needsApproval/1';
  if (typeof needs !== 'function') return { version };
  const when = (input: unknown): boolean => {
    const answer: unknown = needs(input, { toolCallId: '', messages: [], context: undefined });
    // A promise comes too late to say that nobody needs to be asked.
    if (answer instanceof Promise) answer.catch(() => undefined);
    return answer !== false;
  };
  return { version, when };
}

function toAbortSignal(signal: Signal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

function bad(place: string, what: string, next: readonly string[] = []): OnwardError {
  return new OnwardError('ai-sdk/bad-tool', `The tool ${place} ${what}.`, { place: `tools.${place}`, next });
}
