import type {
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { Failure } from '../kernel/failure.ts';

/** A stream that ended without saying so. */
export const cut: Failure = { message: 'The answer broke off before it was complete.', type: 'cut_answer' };
const empty: Failure = { message: 'The model answered nothing at all.', type: 'empty_answer' };
const gaveUp: Failure = { message: 'The provider ended the answer with an error.', type: 'server_error' };

/** Whether a consumer would see something of the answer by this part. */
export function isContent(part: LanguageModelV4StreamPart): boolean {
  switch (part.type) {
    case 'stream-start':
    case 'response-metadata':
    case 'ping':
    case 'raw':
    case 'error':
    case 'finish':
    // A block that is open and still empty shows nothing.
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return false;
    case 'text-delta':
    case 'reasoning-delta':
      return part.delta !== '';
    // Anthropic's provider reports the opening of the message so, before there is anything in it.
    case 'custom':
      return !part.kind.endsWith('.message_start');
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-end':
    case 'tool-call':
    case 'tool-result':
    case 'tool-approval-request':
    case 'file':
    case 'reasoning-file':
    case 'source':
      return true;
    default:
      return unknownIsContent(part);
  }
}

/** A part of a later version of the AI SDK: forwarded, since nobody here knows that it shows nothing. */
function unknownIsContent(_part: never): boolean {
  return true;
}

/** What is wrong with an answer that says it is complete; `undefined` for a good one. */
export function faultOf(finish: LanguageModelV4FinishReason, hasContent: boolean): Failure | undefined {
  switch (finish.unified) {
    case 'interrupted':
      return cut;
    case 'error':
      return finish.raw === undefined
        ? gaveUp
        : { ...gaveUp, message: `${gaveUp.message} (${finish.raw})`.slice(0, 500) };
    case 'stop':
    case 'tool-calls':
    case 'other':
      return hasContent ? undefined : empty;
    // The limit was used up without a word, or a filter let none through: asking again changes neither.
    case 'length':
    case 'content-filter':
    default:
      return undefined;
  }
}

/** The same for an answer that came in one piece. */
export function faultOfWhole(result: LanguageModelV4GenerateResult): Failure | undefined {
  const hasContent = result.content.some((part) =>
    part.type === 'text' || part.type === 'reasoning' ? part.text !== '' : true,
  );
  return faultOf(result.finishReason, hasContent);
}
