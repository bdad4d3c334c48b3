/** Any model of the AI SDK, one attempt per call. */
export { aiSdkModel } from './ai-sdk-model.ts';
export type { AiSdkLanguageModel, AiSdkModelOptions } from './ai-sdk-model.ts';
export { aiSdkFailure } from './ai-sdk-failure.ts';
