import { assertNever } from '../kernel/error.ts';
import type { DeniedCall, Failure } from '../kernel/failure.ts';
import type { Json } from '../kernel/json.ts';
import type { AgentAdapter, AgentIdentity, AttemptReader, Ending, Observation, ProcessEnding } from './adapter.ts';
import { plainJson } from './plain-json.ts';

/** Most characters of an id, a tool's name, a category: what is longer is no such thing. */
const maxWord = 500;
/** Most characters of a failure as JSON; the journal takes no event over its cap, and a failure must be recorded. */
const maxFailure = 32_768;

/**
 * An adapter whose defects, and whatever an agent prints, cannot break a run: what it throws becomes a rejected line or a
 * failure, what no journal takes (broken text, endless nesting, sizes beyond reason) is made plain. What `launch` and `reader`
 * throw is a failed start.
 */
export function carefulAdapter(adapter: AgentAdapter, accepted: AgentIdentity): AgentAdapter {
  return {
    ...adapter,
    reader: () => carefulReader(adapter.reader()),
    identify: async (place) => {
      try {
        return await adapter.identify(place);
      } catch {
        return accepted;
      }
    },
    sessionFile: async (place, id) => {
      try {
        return await adapter.sessionFile(place, id);
      } catch {
        return undefined;
      }
    },
    ...(adapter.keeps === undefined
      ? {}
      : { keeps: (session: string, callId: string) => attempt(() => adapter.keeps?.(session, callId)) ?? false }),
  };
}

function carefulReader(reader: AttemptReader): AttemptReader {
  return {
    line: (text) => {
      try {
        return reader.line(text).map(plainObservation);
      } catch (error) {
        return [{ kind: 'malformed', reason: word(`the adapter failed on this line: ${sentenceOf(error)}`) }];
      }
    },
    ending: (process) => {
      try {
        return plainEnding(reader.ending(process));
      } catch (error) {
        return { ok: false, failure: unreadable(process, error) };
      }
    },
    target: () => attempt(() => reader.target()),
    ...(reader.refuse === undefined ? {} : { refuse: (callId, reason) => reader.refuse?.(callId, reason) ?? '' }),
  };
}

/** What the coordinator itself found out comes first: it is known whatever the adapter makes of the rest. */
function unreadable(process: ProcessEnding, error: unknown): Failure {
  const message = word(`The adapter could not read how the agent ended: ${sentenceOf(error)}`);
  if (process.failure !== undefined) return { ...process.failure, cause: { message } };
  return { message, process: 'ended-without-result', ...(process.exit === undefined ? {} : { exit: process.exit }) };
}

function plainObservation(observation: Observation): Observation {
  const plain = plainJson(observation) as unknown as Observation;
  switch (plain.kind) {
    case 'session':
      return { ...plain, id: word(plain.id), ...words({ model: plain.model, permissions: plain.permissions }) };
    case 'message':
      return { ...plain, id: word(plain.id) };
    case 'call-intended':
    case 'call-started':
      return { ...plain, callId: word(plain.callId), tool: word(plain.tool) };
    case 'call-finished':
      return { ...plain, callId: word(plain.callId) };
    case 'inner-retry':
      return { ...plain, ...words({ category: plain.category }) };
    case 'malformed':
      return { ...plain, reason: word(plain.reason) };
    case 'delta':
    case 'usage':
    case 'alive':
    case 'notice':
    case 'reply':
    case 'result':
      return plain;
    default:
      return assertNever(plain, 'plainObservation');
  }
}

function plainEnding(ending: Ending): Ending {
  const plain = plainJson(ending as unknown as Json) as unknown as Ending;
  if (plain.ok) return plain;
  const besides = plain.denied === undefined ? {} : { denied: fewCalls(plain.denied) };
  if (JSON.stringify(plain.failure).length <= maxFailure) return { ...plain, ...besides };
  const { message, denied, cause: _cause, ...rest } = plain.failure;
  const few = denied === undefined ? undefined : fewCalls(denied);
  const signals = Object.entries(rest).filter(([, value]) => JSON.stringify(value).length <= maxWord);
  const failure = {
    ...Object.fromEntries(signals),
    message: word(message),
    ...(few === undefined ? {} : { denied: few }),
  };
  return { ...plain, ...besides, failure };
}

function fewCalls(denied: readonly DeniedCall[]): readonly DeniedCall[] {
  return denied.slice(0, 20).map(({ tool, summary }) => ({ tool: word(tool), summary: word(summary) }));
}

function words(fields: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [[name, word(text)] as const])),
  );
}

function word(text: string): string {
  return text.length <= maxWord ? text : text.slice(0, maxWord).toWellFormed();
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
