import type { DeniedCall, Failure } from '../../../kernel/failure.ts';
import type { Ending, ProcessEnding } from '../../adapter.ts';
import { readErrorText } from './error-text.ts';
import { asObject, asString, parseObject, shorten } from './json-shape.ts';
import { readResetTime } from './reset-time.ts';
import { readRollout, type RolloutFacts } from './rollout.ts';
import { readStderr } from './stderr.ts';

/** What the stream of one attempt said, as far as its ending goes. */
export interface AttemptFacts {
  readonly threadId?: string;
  readonly end?: { readonly kind: 'completed' } | { readonly kind: 'failed'; readonly message: string };
  /** The reason of an inner retry that had not succeeded when the stream ended. */
  readonly healing?: string;
  /** The last `error` line that was no notice of an inner retry. */
  readonly lastError?: string;
  /** The model's text after the last call; empty when there is none. */
  readonly answer: string;
  /** Calls that the stream itself shows as declined. */
  readonly declined: readonly DeniedCall[];
}

/**
 * What an ending was. The session file speaks first (typed), then the last `turn.failed` by the table of sentences, and
 * standard error only when the stream says nothing. Success needs `turn.completed`, an answer, the conversation that was
 * asked for, no denied call, and an exit that does not contradict it.
 */
export function judgeEnding(process: ProcessEnding, facts: AttemptFacts): Ending {
  const failure = strayed(process, facts) ?? failed(process, facts);
  if (failure === undefined) return { ok: true, text: facts.answer };
  const said = facts.end?.kind === 'completed' && facts.answer !== '' ? { text: facts.answer } : {};
  const { declined } = facts;
  return {
    ok: false,
    failure: process.exit === undefined ? failure : { exit: process.exit, ...failure },
    ...said,
    ...(failure.denied === undefined && declined.length > 0 ? { denied: declined } : {}),
  };
}

/** Another conversation than the one asked for: whatever it says is not about ours. */
function strayed(process: ProcessEnding, facts: AttemptFacts): Failure | undefined {
  if (process.mode !== 'resume' || facts.threadId === undefined || process.sessionId === undefined) return undefined;
  if (process.sessionId === facts.threadId) return undefined;
  return {
    type: 'session_changed',
    message: `codex went on in conversation ${facts.threadId} instead of ${process.sessionId}.`,
  };
}

function failed(process: ProcessEnding, facts: AttemptFacts): Failure | undefined {
  if (facts.end?.kind === 'failed') return describe(facts.end.message, readRollout(process.session));
  // A turn that was completed is completed, whatever then became of its process or of ours.
  if (facts.end !== undefined) return doubtful(process, facts);
  if (process.failure !== undefined) return withCause(process.failure, process, facts);
  return endedEarly(process, facts);
}

/** Exit codes that do not contradict a completed turn: none, and those of SIGINT and SIGTERM, which come after the result. */
const quietExits: readonly number[] = [0, 130, 143];

/** `turn.completed`: is it true? A denied call comes last: with it alone the answer is whole. */
function doubtful(process: ProcessEnding, facts: AttemptFacts): Failure | undefined {
  const code = process.exit?.code;
  // Where the coordinator ended it, the code is an echo of that.
  if (code !== undefined && code !== null && !quietExits.includes(code) && process.failure === undefined)
    return { message: `codex reported a completed turn but exited with code ${code}.` };
  if (facts.answer.trim() === '')
    return { type: 'empty_answer', message: 'The turn completed without an answer of the model.' };
  const { denied } = readRollout(process.session);
  const stopped = denied.length > 0 ? denied : facts.declined;
  if (stopped.length > 0) return { denied: stopped, message: oneLine(deniedSentence(stopped)) };
  return undefined;
}

function deniedSentence(denied: readonly DeniedCall[]): string {
  const others = denied.length > 1 ? ` (and ${denied.length - 1} more)` : '';
  return `The sandbox or the rules of codex stopped a call${others}: ${denied[0]?.summary ?? ''}`;
}

/** A failed turn: typed facts of the session file, the sentence as fallback. */
function describe(message: string, latest: RolloutFacts = { denied: [] }): Failure {
  // Another sentence means that the file's last turn is not this attempt's.
  const rollout = latest.message === message ? latest : { denied: [] };
  const read = readErrorText(message);
  const status = rollout.status ?? read?.status;
  const type = typeOf(rollout, read?.rule.endsWith(':usage-limit') ?? false);
  const resetsAt = type === 'usage_limit_reached' ? endOfLimit(message, rollout) : undefined;
  const cause = readBody(message);
  return {
    message: oneLine(message === '' ? 'codex reported a failed turn without a reason.' : message),
    ...(type === undefined ? {} : { type }),
    ...(rollout.info === undefined ? {} : { category: rollout.info }),
    ...(status === undefined ? {} : { status }),
    ...(resetsAt === undefined ? {} : { resetsAt }),
    ...(read?.class === undefined ? {} : { text: { class: read.class, rule: read.rule } }),
    ...(read?.retryAfterMs === undefined ? {} : { retryAfterMs: read.retryAfterMs }),
    ...(read?.requestId === undefined ? {} : { requestId: read.requestId }),
    ...(cause === undefined ? {} : { cause }),
  };
}

/**
 * codex has one name for a limit that ends by itself and for credit that is gone. A window that is used up, or the sentence
 * that names the time, tells them apart. `other` says nothing; a flagged prompt is a refusal in all but name.
 */
function typeOf(rollout: RolloutFacts, saysUsageLimit: boolean): string | undefined {
  const { info } = rollout;
  if (info === 'usage_limit_exceeded')
    return saysUsageLimit || rollout.limit?.usedUp === true ? 'usage_limit_reached' : 'usage_limit_exceeded';
  if (info === 'invalid_prompt') return 'refusal';
  return info === 'other' ? undefined : info;
}

/** The window that is used up says it to the second; else the sentence to the minute, as seen from the turn's end. */
function endOfLimit(message: string, rollout: RolloutFacts): number | undefined {
  if (rollout.limit?.usedUp === true) return rollout.limit.resetsAt;
  const said = rollout.endedAt === undefined ? undefined : readResetTime(message, rollout.endedAt);
  return said ?? rollout.limit?.resetsAt;
}

/** Of a 400 codex prints the provider's body as it came; its type and code are structured facts. */
function readBody(message: string): Failure | undefined {
  const error = asObject(parseObject(message)?.['error']);
  const type = asString(error?.['type']);
  const code = asString(error?.['code']);
  if (type === undefined && code === undefined) return undefined;
  const inner: Failure | undefined = type === undefined ? undefined : { type, message: `error type ${type}` };
  if (code === undefined) return inner;
  return { type: code, message: `error code ${code}`, ...(inner === undefined ? {} : { cause: inner }) };
}

/** The coordinator ended it: a stall while codex was reconnecting has the reason of that as its cause. */
function withCause(failure: Failure, process: ProcessEnding, facts: AttemptFacts): Failure {
  const stalled = failure.process === 'idle-timeout' || failure.process === 'startup-timeout';
  if (stalled && facts.healing !== undefined && failure.cause === undefined)
    return { ...failure, cause: describe(facts.healing) };
  if (failure.process !== 'ended-without-result') return failure;
  const cause = endedEarly(process, facts);
  return cause.process === undefined && failure.cause === undefined ? { ...failure, cause } : failure;
}

/** The stream has no end. Before the first turn, standard error says why; a last `error` line is the next best. */
function endedEarly(process: ProcessEnding, facts: AttemptFacts): Failure {
  const said = facts.threadId === undefined ? readStderr(process.stderr) : undefined;
  if (said !== undefined) return said;
  if (facts.lastError !== undefined) return describe(facts.lastError);
  const exit = process.exit?.signal ?? process.exit?.code ?? 'unknown';
  return { process: 'ended-without-result', message: `codex ended (${exit}) without saying how the turn ended.` };
}

function oneLine(text: string): string {
  const hidden = text.replaceAll(/(API key provided: )\S+/g, '$1[hidden].');
  return shorten(hidden.replaceAll(/\s+/g, ' ').trim(), 460);
}
