/** Beside other people's code: pieces for programs that are built on the AI SDK. */
export { aiSdkModel, type AiSdkLanguageModel, type AiSdkModelOptions } from '../models/ai-sdk/index.ts';
export { recovering } from './recovering.ts';
export type { RecoveringOptions, RetryNotice } from './recovering-options.ts';
export { isModelFailed, ModelFailedError } from './model-failed.ts';
export {
  resumeOf,
  serverSentEventHeaders,
  toServerSentEvents,
  toUIMessageStream,
  type UIMessageStreamOptions,
} from './ui-message-stream.ts';
export type { UIWriterOptions } from './ui-writer.ts';
export type { UIChunk, UIEnd, UIPlace, UIRetry } from './ui-chunk.ts';
export { type AiSdkTool, fromAiSdkTools, type FromAiSdkToolsOptions } from './tools.ts';
