import type { Json } from '../../../kernel/json.ts';
import type { SessionEvent, UserContent } from '../../plugin.ts';
import type { Counted, Header } from './measure.ts';
import { wordsOf } from './summary-text.ts';

/** The name of the plugin, which owns its records. */
export const pluginName = 'compaction';

/** Why the history was to become smaller. */
export type Reason = 'pressure' | 'overflow' | 'media';

/** Estimates of the history's tokens around a compaction: nothing is tried again before it has grown a good deal. */
export interface Outcome {
  readonly model: string;
  readonly before: number;
  readonly after: number;
}

/** What the log says that matters here. */
export interface CompactionState {
  /** The header of the latest request; none before the first. */
  readonly header: Header | undefined;
  /** The provider's own count for the latest answer. */
  readonly counted: Counted | undefined;
  /** Messages of the request under way. */
  readonly asked: number;
  /** Repairs of overflows, and of refused files, since an answer was committed or a prompt began. */
  readonly overflows: number;
  readonly media: number;
  /** Compactions of this prompt. */
  readonly perPrompt: number;
  /** The latest repair of an overflow that made all of the history as small as it gets. */
  readonly floor: Outcome | undefined;
  /** The latest attempt to ease pressure, or repair of an overflow. `failed`: a new prompt may try again. */
  readonly eased: (Outcome & { readonly failed: boolean }) | undefined;
  /** Models of which nobody knows the size. */
  readonly unknown: readonly string[];
  /** Prompts in their queue, and the one under way: what the user asked for, word for word. */
  readonly queued: readonly Prompt[];
  readonly prompt: Prompt | undefined;
}

interface Prompt {
  readonly id: string;
  readonly text: string;
}

/** The state of an empty log. */
export const nothingYet: CompactionState = {
  header: undefined,
  counted: undefined,
  asked: 0,
  overflows: 0,
  media: 0,
  perPrompt: 0,
  floor: undefined,
  eased: undefined,
  unknown: [],
  queued: [],
  prompt: undefined,
};

/** True when a history has grown so much since the last attempt that another one is worth its price. */
export function hasGrown(tokens: number, { before, after }: Outcome): boolean {
  return tokens >= after + Math.max(1, before * 0.1);
}

type Data<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>['data'];

/** What each type of event changes; the others change nothing. */
const changes: {
  readonly [Type in SessionEvent['type']]?: (state: CompactionState, data: Data<Type>) => CompactionState;
} = {
  'message.accepted': (state, { id, kind, content }) =>
    kind === 'prompt' ? { ...state, queued: [...state.queued, { id, text: wordsOf(content) }] } : state,
  'message.dropped': (state, { ids }) => ({ ...state, queued: state.queued.filter(({ id }) => !ids.includes(id)) }),
  'input.committed': (state, { items }) => items.reduce(applyCommitted, state),
  'turn.opened': (state, { trigger }) => (trigger.kind === 'prompt' ? beginPrompt(state, trigger.id) : state),
  'header.set': (state, header) => ({ ...state, header }),
  'step.opened': (state, { messages }) => ({ ...state, asked: messages }),
  'answer.completed': (state, { usage, blocks }) => applyAnswer({ ...state, overflows: 0, media: 0 }, usage, blocks),
  'history.replaced': (state) => ({ ...state, counted: undefined }),
  'plugin.recorded': (state, { plugin, kind, data }) =>
    plugin === pluginName ? applyRecord(state, kind, data) : state,
};

/** Adds an event. Pure. */
export function applyCompaction(state: CompactionState, event: SessionEvent): CompactionState {
  const change = changes[event.type] as ((state: CompactionState, data: unknown) => CompactionState) | undefined;
  return change === undefined ? state : change(state, event.data);
}

function beginPrompt(state: CompactionState, id: string): CompactionState {
  return {
    ...state,
    overflows: 0,
    media: 0,
    perPrompt: 0,
    eased: state.eased?.failed === true ? undefined : state.eased,
    prompt: state.queued.find((prompt) => prompt.id === id),
    queued: state.queued.filter((prompt) => prompt.id !== id),
  };
}

/** An admission may have rewritten the prompt. */
function applyCommitted(
  state: CompactionState,
  { id, content }: { readonly id: string; readonly content?: UserContent },
): CompactionState {
  if (content === undefined || state.prompt?.id !== id) return state;
  return { ...state, prompt: { id, text: wordsOf(content) } };
}

function applyAnswer(
  state: CompactionState,
  usage: Data<'answer.completed'>['usage'],
  blocks: number,
): CompactionState {
  const { inputTokens, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  if (inputTokens === undefined) return state;
  // Some providers count what came from their cache apart.
  const input = Math.max(inputTokens, cacheReadTokens + cacheWriteTokens);
  return { ...state, counted: { tokens: input + outputTokens, messages: state.asked + (blocks > 0 ? 1 : 0) } };
}

/** Our own records. What is not there, from another version, counts as nothing. */
function applyRecord(state: CompactionState, kind: string, data: Json): CompactionState {
  const record = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, Json>>;
  const { why, complete, model } = record as { readonly [key: string]: Json; readonly why?: Reason };
  const outcome = {
    model: typeof model === 'string' ? model : '',
    before: numberOf(record['before']),
    after: numberOf(record['after']),
  };
  switch (kind) {
    case 'compaction.started':
      return {
        ...state,
        perPrompt: state.perPrompt + 1,
        overflows: state.overflows + (why === 'overflow' ? 1 : 0),
        media: state.media + (why === 'media' ? 1 : 0),
      };
    case 'compaction.finished':
      if (why === 'media') return state;
      return {
        ...state,
        eased: { ...outcome, failed: false },
        floor: why === 'overflow' && complete === true ? outcome : state.floor,
      };
    case 'compaction.failed':
      return why === 'pressure' ? { ...state, eased: { ...outcome, failed: true } } : state;
    case 'capacity-unknown':
      return { ...state, unknown: [...state.unknown, outcome.model] };
    default:
      return state;
  }
}

function numberOf(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0;
}
