/** What the name of an error class stands for. */
export interface KnownError {
  readonly type: string;
  /** Said instead of the error's own words where those quote what was sent or received. */
  readonly message?: string;
}

/** Errors without a provider's error in them, by name: the platform's, and those of the AI SDK (`@ai-sdk/provider` 4.0). */
const byName: ReadonlyMap<string, KnownError> = new Map<string, KnownError>([
  ['AbortError', { type: 'aborted' }],
  ['TimeoutError', { type: 'timeout_error' }],
  ['AI_JSONParseError', { type: 'malformed_chunk', message: 'A piece of the answer was not valid JSON.' }],
  [
    'AI_TypeValidationError',
    { type: 'malformed_chunk', message: 'A piece of the answer had another shape than agreed.' },
  ],
  ['AI_InvalidResponseDataError', { type: 'malformed_chunk' }],
  ['AI_EmptyResponseBodyError', { type: 'empty_answer' }],
  ['AI_NoContentGeneratedError', { type: 'empty_answer' }],
  ['AI_LoadAPIKeyError', { type: 'authentication_error' }],
  ['AI_LoadSettingError', { type: 'invalid_input' }],
  ['AI_InvalidArgumentError', { type: 'invalid_input' }],
  ['AI_InvalidPromptError', { type: 'invalid_prompt', message: 'The prompt is not what the model takes.' }],
  ['AI_UnsupportedFunctionalityError', { type: 'invalid_input' }],
  ['AI_NoSuchModelError', { type: 'model_not_found' }],
  ['AI_NoSuchProviderReferenceError', { type: 'invalid_input' }],
]);

/** What an error of this name stands for, if it is one of those. */
export function knownError(name: string | undefined): KnownError | undefined {
  return name === undefined ? undefined : byName.get(name);
}
