import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { Failure } from '../../kernel/failure.ts';
import type { ModelPart, Opaque, Usage } from '../model.ts';
import { aiSdkFailure } from './ai-sdk-failure.ts';
import { readFinish, readUsage } from './read-finish.ts';

interface OpenBlock {
  readonly block: number;
  opaque: Opaque | undefined;
}

/** What a reader of parts needs to know of the attempt. */
export interface ReaderOptions {
  readonly price?: ((usage: Usage) => number) | undefined;
  /** Milliseconds since the epoch, for hints that are dates. */
  readonly now?: (() => number) | undefined;
}

/**
 * Turns the parts of one AI SDK stream into ours. Metadata, sources, warnings, pings, custom content and kinds of parts that
 * are not known are passed over: a history without them is complete. What a history could not leave out without lying, a call
 * that the provider carried out itself or a file as an answer, is a failure.
 */
export class PartReader {
  readonly #options: ReaderOptions;
  readonly #open = new Map<string, OpenBlock>();
  #blocks = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Our parts for this one, in order. After a `finish` or `failed` no more is to be read. */
  read(part: LanguageModelV4StreamPart): readonly ModelPart[] {
    switch (part.type) {
      case 'text-start':
        return this.#begin('text', part.id, part.providerMetadata);
      case 'reasoning-start':
        return this.#begin('thinking', part.id, part.providerMetadata);
      case 'text-delta':
        return this.#delta('text', part);
      case 'reasoning-delta':
        return this.#delta('thinking', part);
      case 'text-end':
        return this.#end('text', part);
      case 'reasoning-end':
        return this.#end('thinking', part);
      case 'tool-input-start':
        if (part.providerExecuted === true) return unsupported(`called its own tool ${part.toolName}`);
        return this.#beginCall(part.id, part.toolName, part.providerMetadata);
      case 'tool-input-delta':
        return this.#delta('call', part);
      case 'tool-call':
        return this.#call(part);
      case 'finish':
        return this.#finish(part);
      case 'error':
        return failed(aiSdkFailure(part.error, this.#options.now?.()));
      case 'tool-result':
      case 'tool-approval-request':
        return unsupported('used a tool of its own');
      case 'file':
      case 'reasoning-file':
        return unsupported(`answered with a file (${part.mediaType})`);
      // The `tool-call` after it says it again, with the whole input.
      case 'tool-input-end':
      case 'stream-start':
      case 'response-metadata':
      case 'source':
      case 'custom':
      case 'ping':
      case 'raw':
      default:
        return [];
    }
  }

  #begin(kind: 'text' | 'thinking', id: string, metadata: SharedV4ProviderMetadata | undefined): readonly ModelPart[] {
    const block = this.#add(`${kind}:${id}`, metadata);
    return [{ type: 'block', block, kind }];
  }

  #beginCall(id: string, tool: string, metadata: SharedV4ProviderMetadata | undefined): readonly ModelPart[] {
    const block = this.#add(`call:${id}`, metadata);
    return [{ type: 'block', block, kind: 'call', id, tool }];
  }

  #add(key: string, metadata: SharedV4ProviderMetadata | undefined): number {
    const block = this.#blocks;
    this.#blocks += 1;
    this.#open.set(key, { block, opaque: toOpaque(metadata) });
    return block;
  }

  #delta(kind: 'text' | 'thinking' | 'call', part: Piece & { readonly delta: string }): readonly ModelPart[] {
    const open = this.#open.get(`${kind}:${part.id}`);
    if (open === undefined) return outOfOrder(`a piece of ${kind} that never began`);
    open.opaque = toOpaque(part.providerMetadata) ?? open.opaque;
    return part.delta === '' ? [] : [{ type: 'delta', block: open.block, text: part.delta }];
  }

  #end(kind: 'text' | 'thinking', part: Piece): readonly ModelPart[] {
    const key = `${kind}:${part.id}`;
    const open = this.#open.get(key);
    if (open === undefined) return outOfOrder(`the end of a ${kind} that never began`);
    this.#open.delete(key);
    return [{ type: 'end', block: open.block, ...withOpaque(toOpaque(part.providerMetadata) ?? open.opaque) }];
  }

  #call(part: LanguageModelV4ToolCall): readonly ModelPart[] {
    if (part.providerExecuted === true) return unsupported(`called its own tool ${part.toolName}`);
    const key = `call:${part.toolCallId}`;
    const begun = this.#open.has(key) ? [] : this.#beginCall(part.toolCallId, part.toolName, undefined);
    const open = this.#open.get(key);
    if (open === undefined) return [];
    this.#open.delete(key);
    const opaque = toOpaque(part.providerMetadata) ?? open.opaque;
    return [...begun, { type: 'end', block: open.block, text: part.input, ...withOpaque(opaque) }];
  }

  #finish(part: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): readonly ModelPart[] {
    const finished = readFinish(part);
    const usage = readUsage(part.usage, this.#options.price);
    if (finished.kind === 'finish') {
      const { reason, raw } = finished;
      return [{ type: 'finish', reason, ...(usage && { usage }), ...(raw === undefined ? {} : { raw }) }];
    }
    // A failed attempt was paid for as well.
    return [...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]), ...failed(finished.failure)];
  }
}

interface Piece {
  readonly id: string;
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
}

/** Plain JSON of what a provider attached: the SDK's objects may hold `undefined`, which no log can. */
function toOpaque(metadata: SharedV4ProviderMetadata | undefined): Opaque | undefined {
  return metadata === undefined ? undefined : (JSON.parse(JSON.stringify(metadata)) as Opaque);
}

function withOpaque(opaque: Opaque | undefined): { readonly opaque?: Opaque } {
  return opaque === undefined ? {} : { opaque };
}

function failed(failure: Failure): readonly ModelPart[] {
  return [{ type: 'failed', failure }];
}

function unsupported(what: string): readonly ModelPart[] {
  return failed({
    message: `The model ${what}, which no history here can hold. Turn that off.`,
    type: 'invalid_input',
  });
}

function outOfOrder(what: string): readonly ModelPart[] {
  return failed({ message: `The stream has ${what}.`, type: 'malformed_chunk' });
}
