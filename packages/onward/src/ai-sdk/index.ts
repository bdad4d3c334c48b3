/** Beside other people's code: pieces for programs that are built on the AI SDK. */
export { recovering } from './recovering.ts';
export type { RecoveringOptions, RetryNotice } from './recovering-options.ts';
export { isModelFailed, ModelFailedError } from './model-failed.ts';
