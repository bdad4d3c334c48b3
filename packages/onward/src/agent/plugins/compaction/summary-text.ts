import type { Message, ModelRequest, UserContent } from '../../plugin.ts';
import type { Header } from './measure.ts';
import { cutMiddle } from './prune.ts';

/** All that becomes a prefix of the conversation is in one language and register, whatever was spoken before. */
const instruction = [
  'Stop here and write a summary of the conversation so far. It will stand in the place of that part of the conversation, so that',
  'the work can go on from it alone. Write in English, in plain sentences, with: the goal and the wishes of the user; what was',
  'decided, and why; what was done, and with what result; names, paths, numbers and identifiers exactly as they are; what failed or',
  'is not known; what is to be done next. Do not call a tool. Write the summary and nothing else.',
].join(' ');

const opening =
  'This is a summary of the earlier conversation, which no longer fits into the context. It was written by the model itself. ' +
  'The conversation goes on after it.';

/** Of a prompt that is summarised away, about so many characters are kept word for word. */
const longestPrompt = 4_000;

/**
 * The request for a summary of some messages: begins as the conversation's own requests do, so that what the provider has cached of
 * them serves again; what is wanted comes last. No tool may be called.
 */
export function summaryRequest(messages: readonly Message[], header: Header, model: string): ModelRequest {
  const { system, tools, settings } = header;
  const { toolChoice: _, ...rest } = settings;
  return {
    system,
    tools,
    // A choice without tools is refused by some providers.
    settings: tools.length === 0 ? rest : { ...rest, toolChoice: 'none' },
    messages: [...messages.map((message) => readableBy(message, model)), userMessage(instruction)],
  };
}

/** Without what only the model that wrote it can read, as the loop does in its own requests. */
function readableBy(message: Message, model: string): Message {
  if (message.role !== 'assistant' || message.model === model) return message;
  const content = message.content.flatMap((part) => {
    if (part.type === 'thinking') return [];
    if (part.opaque === undefined) return [part];
    const { opaque: _, ...plain } = part;
    return [plain];
  });
  return { ...message, content: content.length === 0 ? [{ type: 'text', text: '(thought)' }] : content };
}

/** The message that stands for what was summarised; `prompt` is quoted, where it is no longer there itself. */
export function summaryMessage(summary: string, prompt?: string): Message {
  const request =
    prompt === undefined
      ? ''
      : `\n\nThe request of the user that is being worked on, word for word:\n<request>\n${prompt}\n</request>`;
  return userMessage(`${opening}\n\n<summary>\n${summary.trim()}\n</summary>${request}`);
}

/** What a user said, for quoting it: cut in the middle where it is long. */
export function wordsOf(content: UserContent): string {
  const words = content.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n');
  return cutMiddle(words.trim(), longestPrompt);
}

function userMessage(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}
