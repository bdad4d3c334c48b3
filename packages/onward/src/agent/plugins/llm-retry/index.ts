/** Retries model requests that failed in passing: each on record before its wait, and never without an end. */
export { llmRetry } from './llm-retry.ts';
export type { LlmRetryOptions, ModelRetryOptions, RetriedClass } from './options.ts';
export type { RetryRecord } from './retry-record.ts';
