import type { Failure } from '../kernel/failure.ts';
import { findNonJson, type Json } from '../kernel/json.ts';
import type { CallPart, FinishReason, ModelPart, TextPart, ThinkingPart, Usage } from '../models/model.ts';
import { readPart } from './read-part.ts';

/** A part of an answer. */
export type AnswerPart = TextPart | ThinkingPart | CallPart;

/** What one part of a stream came to. */
export type Assembled =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'delta'; readonly block: number; readonly of: 'text' | 'thinking' | 'call'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A complete answer. */
export interface Answer {
  readonly parts: readonly AnswerPart[];
  readonly finish: FinishReason;
  readonly usage?: Usage;
  readonly requestId?: string;
}

interface Block {
  readonly kind: 'text' | 'thinking' | 'call';
  readonly id: string;
  readonly tool: string;
  readonly pieces: string[];
  closed: boolean;
}

const nothing: Assembled = { kind: 'nothing' };

/**
 * Puts a stream of parts together, and holds it to its grammar: blocks begin once and end once, usage and finish come
 * once, nothing follows the finish. Arguments of a call are parsed strictly and only when they are complete; what was cut is
 * never a call. One assembler for one attempt.
 */
export class Assembler {
  readonly #blocks = new Map<number, Block>();
  /** Complete parts by the number of their block: some wires end a text only after the calls behind it. */
  readonly #complete = new Map<number, AnswerPart>();
  #finish: { readonly reason: FinishReason; readonly raw?: string } | undefined;
  #usage: Usage | undefined;
  #requestId: string | undefined;
  /** Set by the reader when the stream has come to its end by itself. */
  ended = false;

  /** Takes the next part, whatever it is. After a `failed` nothing more is to be pushed. `now`: ms since the epoch. */
  push(said: unknown, now: number): Assembled {
    const part = readPart(said, now);
    if (part === undefined) return malformed('The stream had a part that is none: its type or a field of it is wrong.');
    if (this.#finish !== undefined) {
      if (part.type === 'usage') return this.#count(part.usage);
      return malformed(`The stream went on after its finish (${part.type}).`);
    }
    switch (part.type) {
      case 'started':
        if (part.requestId !== undefined) this.#requestId = part.requestId;
        return nothing;
      case 'block':
        return this.#begin(part);
      case 'delta':
        return this.#delta(part.block, part.text);
      case 'end':
        return this.#end(part);
      case 'usage':
        return this.#count(part.usage);
      case 'finish':
        if (part.usage !== undefined) this.#usage = part.usage;
        this.#finish = { reason: part.reason, ...(part.raw === undefined ? {} : { raw: part.raw }) };
        return nothing;
      case 'failed':
        return { kind: 'failed', failure: part.failure };
      default:
        return malformed('The stream had a part of an unknown type.');
    }
  }

  /** True after the finish. */
  get finished(): boolean {
    return this.#finish !== undefined;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** What the stream came to when it has ended by itself: a whole answer, or why it is none. */
  result(): { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly failure: Failure } {
    const finish = this.#finish;
    if (finish === undefined) return bad('cut_answer', 'The stream ended without a finish: the answer was cut.');
    const open = [...this.#blocks.values()].filter((block) => !block.closed);
    const calls = this.parts().filter((part) => part.type === 'call');
    if (finish.raw === 'model_context_window_exceeded')
      return bad('context_window_exceeded', 'The answer filled the context window.', finish.raw);
    if (finish.reason === 'length' && (calls.length > 0 || open.some(({ kind }) => kind === 'call')))
      return bad('max_output_tokens', 'The token limit cut the answer off inside a tool call.', 'length');
    if (finish.reason === 'content-filter')
      return bad('content_filter', `The provider refused to answer (${finish.raw ?? 'content filter'}).`, finish.raw);
    if (open.some(({ kind }) => kind === 'call')) return bad('cut_answer', 'The stream finished inside a tool call.');
    for (const [number, block] of this.#blocks) if (!block.closed) this.#end({ block: number });
    const parts = this.parts();
    if (parts.every(isBlank)) return bad('empty_answer', 'The model finished without any content.');
    const answer: Answer = {
      parts,
      finish: finish.reason,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      ...(this.#requestId === undefined ? {} : { requestId: this.#requestId }),
    };
    return { ok: true, answer };
  }

  /** The parts that are complete, in the order in which they began. */
  parts(): readonly AnswerPart[] {
    return [...this.#complete].toSorted(([a], [b]) => a - b).map(([, part]) => part);
  }

  /** What a reader has seen so far: text and thinking, closed or not; no calls. */
  visible(): readonly (TextPart | ThinkingPart)[] {
    return [...this.#blocks.values()].flatMap((block) => {
      const text = block.pieces.join('').toWellFormed();
      if (block.kind === 'call' || text.trim() === '') return [];
      return block.kind === 'text' ? [{ type: 'text' as const, text }] : [];
    });
  }

  #begin(part: Extract<ModelPart, { readonly type: 'block' }>): Assembled {
    if (this.#blocks.has(part.block)) return malformed('The stream began one block twice.');
    const named = part.kind === 'call' ? { id: part.id, tool: part.tool } : { id: '', tool: '' };
    this.#blocks.set(part.block, { kind: part.kind, ...named, pieces: [], closed: false });
    return nothing;
  }

  #delta(number: number, text: string): Assembled {
    const block = this.#blocks.get(number);
    if (block === undefined || block.closed) return malformed('The stream wrote into a block that is not open.');
    block.pieces.push(text);
    return { kind: 'delta', block: number, of: block.kind, text };
  }

  #end(part: { readonly block: number; readonly text?: string; readonly opaque?: AnswerPart['opaque'] }): Assembled {
    const block = this.#blocks.get(part.block);
    if (block === undefined) return malformed('The stream ended a block that never began.');
    // The first close of a block wins.
    if (block.closed) return nothing;
    block.closed = true;
    // Half a character (what a broken decoder leaves) cannot be stored as text, nor sent again.
    const text = (part.text ?? block.pieces.join('')).toWellFormed();
    const opaque = part.opaque === undefined ? {} : { opaque: part.opaque };
    if (block.kind !== 'call') {
      // Providers refuse a history with a text of nothing but blanks.
      const empty = block.kind === 'text' ? text.trim() === '' : text === '';
      if (empty && part.opaque === undefined) return nothing;
      return this.#keep(part.block, { type: block.kind, text, ...opaque });
    }
    const input = parseInput(text);
    if (input === undefined) return malformed(`The arguments of a call to ${block.tool} are not JSON.`);
    return this.#keepCall(part.block, { type: 'call', id: block.id, tool: block.tool, input: input.value, ...opaque });
  }

  /** Two calls with one id: the same call said twice is one call; another call gets an id of its own. */
  #keepCall(block: number, call: CallPart): Assembled {
    const calls = this.parts().filter((part): part is CallPart => part.type === 'call');
    const twin = calls.find(({ id }) => id === call.id);
    if (twin === undefined && call.id !== '') return this.#keep(block, call);
    if (twin !== undefined && twin.tool === call.tool && JSON.stringify(twin.input) === JSON.stringify(call.input))
      return nothing;
    let number = 2;
    while (calls.some(({ id }) => id === `${call.id}#${number}`)) number += 1;
    return this.#keep(block, { ...call, id: `${call.id}#${number}` });
  }

  #keep(block: number, part: AnswerPart): Assembled {
    this.#complete.set(block, part);
    return nothing;
  }

  #count(usage: Usage): Assembled {
    this.#usage = usage;
    return nothing;
  }
}

function isBlank(part: AnswerPart): boolean {
  return part.type === 'text' && part.text.trim() === '';
}

/** Complete JSON, or nothing at all. No arguments are an empty object, as some providers send none for it. */
function parseInput(text: string): { readonly value: Json } | undefined {
  if (text.trim() === '') return { value: {} };
  try {
    const value = JSON.parse(text) as Json;
    return findNonJson(value) === undefined ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function malformed(message: string): Assembled {
  return { kind: 'failed', failure: { message, type: 'malformed_chunk' } };
}

function bad(type: string, message: string, stop?: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: { message, type, ...(stop === undefined ? {} : { stop }) } };
}
