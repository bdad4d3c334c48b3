import type { Failure } from '../../../kernel/failure.ts';
import { type Banner, readBanner, transportCode } from './banners.ts';
import { numberAt, type Shape, shapeAt, shapesAt, shorten, textAt, textsAt } from './shape.ts';

/** An API error which the CLI wrote into the conversation; it need not be the end. */
export interface ApiError {
  /** The line as the CLI wrote it, to be compared with a result. */
  readonly text: string;
  readonly failure: Failure;
}

/** The error of an assistant line which the CLI itself wrote; `undefined` when such a line is no error. */
export function syntheticError(line: Shape): ApiError | undefined {
  const message = shapeAt(line, 'message');
  const category = textAt(line, 'error');
  if (category === undefined) return undefined;
  const text = shapesAt(message, 'content')
    .map((block) => textAt(block, 'text') ?? '')
    .join('\n');
  const stop = textAt(message, 'stop_reason');
  const requestId = textAt(line, 'request_id');
  return {
    text,
    failure: {
      message: shorten(text, 500),
      category,
      ...(requestId === undefined ? {} : { requestId }),
      // The CLI gives its own error lines the stop reason `stop_sequence`; any other one is the model's.
      ...(stop === undefined || stop === 'stop_sequence' ? {} : { stop }),
      ...readText(text),
    },
  };
}

/** An error that follows on the repeats of one request still has the server's hint that came with these. */
export function withHintOf(error: ApiError, before: ApiError | undefined): ApiError {
  const hints = [error, before].flatMap((each) => each?.failure.retryAfterMs ?? []);
  if (hints.length === 0) return error;
  return { ...error, failure: { ...error.failure, retryAfterMs: Math.max(...hints) } };
}

/**
 * The server's `Retry-After` behind a wait of the CLI, ms. The CLI waits for the longer of that and its own time; whole
 * seconds are the header's, since its own times are spread by a random share (measured with 2.1.197).
 */
function hintOf(line: Shape): number | undefined {
  const delayMs = numberAt(line, 'retry_delay_ms');
  return delayMs !== undefined && delayMs > 0 && Number.isInteger(delayMs / 1000) ? delayMs : undefined;
}

/** The API error behind one of the CLI's own retries. */
export function retryError(line: Shape): ApiError {
  const retryAfterMs = hintOf(line);
  const status = numberAt(line, 'error_status');
  const category = textAt(line, 'error');
  const said = status === undefined ? (category ?? 'an unknown error') : `status ${status}`;
  return {
    text: '',
    failure: {
      message: `Claude Code was repeating a request after ${said}.`,
      ...(status === undefined ? {} : { status }),
      ...(category === undefined ? {} : { category }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      // Without a status the CLI met no answer at all: the connection was refused, reset or silent.
      ...(status === undefined && category === 'unknown'
        ? { text: { class: 'transient', rule: 'claude-text/1:retry-without-answer' } }
        : {}),
    },
  };
}

/** What a `result` line says of a failure; `undefined` when it claims success. */
export function resultFailure(
  result: Shape,
  error: ApiError | undefined,
  resetsAt: number | undefined,
): Failure | undefined {
  const subtype = textAt(result, 'subtype') ?? '';
  const told = textAt(result, 'result') ?? textsAt(result, 'errors').join('; ');
  // `is_error` is the word that counts: `subtype` says "success" of every API failure. Versions that lack it print the error as the answer.
  const claim = result['is_error'] ?? false;
  const failed =
    claim !== false || subtype !== 'success' || (error !== undefined && error.text !== '' && error.text === told);
  if (!failed) return stoppedByHook(result);
  const type = typeOf(subtype, textAt(result, 'terminal_reason'));
  // The CLI's own words for it are a diagnosis for its developers.
  const text = type === 'interrupted' ? 'Claude Code was interrupted.' : told === '' ? (error?.text ?? '') : told;
  const status = numberAt(result, 'api_error_status');
  const limited = status === 429 || error?.failure.category === 'rate_limit';
  return {
    ...error?.failure,
    message: text === '' ? `Claude Code failed: ${subtype}.` : shorten(text, 500),
    ...readText(text),
    ...(type === undefined ? {} : { type }),
    ...(status === undefined ? {} : { status }),
    ...(limited && resetsAt !== undefined ? { resetsAt } : {}),
  };
}

function stoppedByHook(result: Shape): Failure | undefined {
  const reason = textAt(result, 'terminal_reason');
  if (reason !== 'hook_stopped' && reason !== 'stop_hook_prevented') return undefined;
  return {
    message: 'A hook of yours stopped Claude Code.',
    text: { class: 'policy', rule: `claude-text/1:${reason}` },
  };
}

/** Types which the CLI states in words of its own. */
function typeOf(subtype: string, reason: string | undefined): string | undefined {
  if (subtype === 'error_max_turns') return 'max_turns';
  if (subtype === 'error_max_budget_usd') return 'max_budget';
  if (subtype === 'error_max_structured_output_retries') return 'check_failed';
  switch (reason ?? '') {
    case 'prompt_too_long':
    case 'blocking_limit':
    case 'rapid_refill_breaker':
      return 'prompt_too_long';
    case 'aborted_streaming':
    case 'aborted_tools':
      return 'interrupted';
    case 'max_turns':
      return 'max_turns';
    default:
      return undefined;
  }
}

/** What the table knows of a text that the CLI wrote: its class, and the type or transport code that it stands for. */
function readText(text: string): Partial<Failure> {
  const banner: Banner | undefined = readBanner(text);
  const code = transportCode(text);
  return {
    ...(code === undefined ? {} : { code }),
    ...(banner === undefined ? {} : { text: { class: banner.class, rule: banner.rule } }),
    ...(banner?.type === undefined ? {} : { type: banner.type }),
    ...(banner?.resetsAt === undefined ? {} : { resetsAt: banner.resetsAt }),
  };
}
