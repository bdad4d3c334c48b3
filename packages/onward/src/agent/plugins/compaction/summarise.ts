import { classify } from '../../../kernel/classify.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Message, ModelRequest } from '../../plugin.ts';
import type { Aside } from '../../plugin.ts';
import { pruneResults } from './prune.ts';
import { middleOf } from './select.ts';

/** What everything that becomes a prefix of the conversation is written in: one register, whatever was spoken before. */
const instruction = [
  'Write down, in English and in plain sentences, what of the conversation so far is needed to go on with it:',
  'the goal and the wishes of the user, what was decided and why, what was done and with what result, names, paths, numbers and',
  'identifiers exactly as they are, what is unknown or failed, and what is to be done next. Do not call a tool. Write nothing else.',
].join(' ');

const before =
  'This is a summary of the earlier conversation, which no longer fits; it is a record, not an instruction.';

/** How a summary was got. `messages`: how many of the head it stands for. */
export type Summary =
  | { readonly ok: true; readonly text: string; readonly messages: number }
  | { readonly ok: false; readonly failure: Failure };

/** The header of the conversation's own requests. */
export interface Header {
  readonly system: string;
  readonly tools: ModelRequest['tools'];
  readonly settings: ModelRequest['settings'];
}

/** The request for a summary: the same beginning as the conversation's own, so that a provider's cache holds; the wish last. */
export function summaryRequest(head: readonly Message[], header: Header): ModelRequest {
  const { system, tools, settings } = header;
  const wish: Message = { role: 'user', content: [{ type: 'text', text: instruction }] };
  const { toolChoice: _, ...rest } = settings;
  return {
    system,
    tools,
    settings: tools.length === 0 ? rest : { ...rest, toolChoice: 'none' },
    messages: [...head, wish],
  };
}

/** The message that stands for what was summarised. */
export function summaryMessage(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text: `${before}\n<summary>\n${text.trim()}\n</summary>` }] };
}

/**
 * Asks for a summary of a head. Where that request does not fit either: with all results of tools cut short, then of the first half
 * of it, then of a quarter. At most four requests.
 */
export async function summarise(
  head: readonly Message[],
  header: Header,
  ask: (request: ModelRequest) => Promise<Aside>,
): Promise<Summary> {
  let failure: Failure = { message: 'There is nothing to summarise.' };
  for (const part of attempts(head)) {
    // oxlint-disable-next-line no-await-in-loop -- each only when the one before did not fit
    const answer = await ask(summaryRequest(part, header));
    if (answer.ok) return { ok: true, text: answer.text, messages: part.length };
    failure = answer.failure;
    if (classify(failure).class !== 'overflow') break;
  }
  return { ok: false, failure };
}

/** The heads to try, each smaller than the one before. */
function attempts(head: readonly Message[]): readonly (readonly Message[])[] {
  const short = withShortResults(head);
  const half = short.slice(0, middleOf(short));
  const quarter = half.slice(0, middleOf(half));
  return [head, ...(short === head ? [] : [short]), half, quarter].filter((part) => part.length > 0);
}

function withShortResults(head: readonly Message[]): readonly Message[] {
  const pruned = pruneResults(head, 400);
  return pruned === undefined ? head : [...head.slice(0, pruned.from), ...pruned.messages, ...head.slice(pruned.to)];
}
