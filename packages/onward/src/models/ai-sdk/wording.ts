import type { Failure, FailureClass } from '../../kernel/failure.ts';

/** Version of the table below; part of each rule's name. */
export const wordingVersion = 1;

interface Row {
  readonly rule: string;
  readonly class: FailureClass;
  /** The typed error that these words stand for, since the type or status beside them says less. */
  readonly type: string;
  /** The statuses it comes with; one inside a stream has none. */
  readonly statuses: readonly number[];
  readonly words: RegExp;
}

/**
 * Errors that providers tell apart by their words alone, as seen with the AI SDK's providers (anthropic 4.0, openai 4.0,
 * openai-compatible 3.0). Anchored at the start of a message that the provider wrote.
 */
const rows: readonly Row[] = [
  {
    rule: 'anthropic-prompt-too-long',
    class: 'overflow',
    type: 'prompt_too_long',
    statuses: [400, 413],
    words: /^prompt is too long(: \d+ tokens > \d+ maximum)?/u,
  },
  {
    rule: 'anthropic-input-and-output',
    class: 'overflow',
    type: 'prompt_too_long',
    statuses: [400],
    words: /^input length and `max_tokens` exceed context limit: /u,
  },
  {
    rule: 'openai-context-window',
    class: 'overflow',
    type: 'context_length_exceeded',
    statuses: [400],
    words: /^Your input exceeds the context window of this model\b/u,
  },
  // OpenAI's older words, which servers that copy its API (vLLM, DeepSeek) still use without its code.
  {
    rule: 'compatible-context-length',
    class: 'overflow',
    type: 'context_length_exceeded',
    statuses: [400, 413],
    words: /^This model's maximum context length is \d+ tokens\b/u,
  },
  {
    rule: 'google-token-count',
    class: 'overflow',
    type: 'context_length_exceeded',
    statuses: [400],
    words: /^The input token count (\(\d+\) )?exceeds the maximum number of tokens allowed\b/u,
  },
  // Which file of the request it is, is said by its path in it.
  {
    rule: 'anthropic-image',
    class: 'input',
    type: 'image_rejected',
    statuses: [400, 413],
    words:
      /^(messages\.\d+(\.[a-z0-9_]+)*\.image\.source\b|At least one of the image dimensions exceed|Could not process image\b)/u,
  },
  {
    rule: 'anthropic-credit',
    class: 'billing',
    type: 'credit_exhausted',
    statuses: [400, 403, 429],
    words: /^Your credit balance is too low to access the Anthropic API\b/u,
  },
  {
    rule: 'compatible-quota',
    class: 'billing',
    type: 'insufficient_quota',
    statuses: [403, 429],
    words: /^You exceeded your current quota, please check your plan and billing details\b/u,
  },
  // Said by the AI SDK itself, about the first piece of an answer that it could not read.
  {
    rule: 'sdk-first-chunk',
    class: 'transient',
    type: 'malformed_chunk',
    statuses: [],
    words: /^Expected a normalized Anthropic stream error$/u,
  },
  {
    rule: 'sdk-no-finish',
    class: 'transient',
    type: 'cut_answer',
    statuses: [],
    words: /^Response stream ended without a finish reason\.$/u,
  },
];

/** Types so general that words may say more. Google's `RESOURCE_EXHAUSTED` uses the words of an empty account for a full minute. */
const general: readonly (string | undefined)[] = [
  undefined,
  'invalid_request_error',
  'malformed_chunk',
  'requests',
  'tokens',
];

/** The failure with what its words stand for, where nothing typed says it. */
export function readWording(failure: Failure): Failure {
  if (!general.includes(failure.type)) return failure;
  const row = rows.find(
    ({ statuses, words }) =>
      (failure.status === undefined || statuses.includes(failure.status)) && words.test(failure.message),
  );
  if (row === undefined) return failure;
  return { ...failure, type: row.type, text: { class: row.class, rule: `ai-sdk/${wordingVersion}:${row.rule}` } };
}
