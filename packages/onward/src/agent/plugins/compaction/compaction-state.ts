import type { SessionEvent, Usage } from '../../plugin.ts';
import type { Header } from './summarise.ts';

/** The name of the plugin, which owns its records. */
export const pluginName = 'compaction';

/** Why a compaction was begun. */
export type Reason = 'pressure' | 'overflow' | 'media';

/** What the log says that matters here. */
export interface CompactionState {
  /** The provider's own count for the latest answer, and how many messages it covers. */
  readonly counted: { readonly tokens: number; readonly messages: number } | undefined;
  readonly header: Header | undefined;
  /** Messages of the request under way. */
  readonly asked: number;
  /** Repairs of overflows since an answer was committed or a prompt began. */
  readonly overflows: number;
  /** The same of refused media. */
  readonly media: number;
  /** Compactions of this prompt. */
  readonly perPrompt: number;
  /** Pressure could not be eased at this generation: nothing is tried again before the history has changed. */
  readonly stuck: boolean;
  /** Models of which nobody knows the size. */
  readonly unknown: readonly string[];
}

/** The state of an empty log. */
export const nothingYet: CompactionState = {
  counted: undefined,
  header: undefined,
  asked: 0,
  overflows: 0,
  media: 0,
  perPrompt: 0,
  stuck: false,
  unknown: [],
};

/** Adds an event; those that say nothing of the size of the history leave the state as it is. Pure. */
export function applyCompaction(state: CompactionState, event: SessionEvent): CompactionState {
  if (event.type === 'turn.opened')
    return event.data.trigger.kind === 'prompt' ? { ...state, ...fresh, perPrompt: 0, stuck: false } : state;
  if (event.type === 'header.set') return { ...state, header: event.data };
  if (event.type === 'step.opened') return { ...state, asked: event.data.messages };
  if (event.type === 'answer.completed') return { ...state, ...fresh, counted: countedIn(state, event.data.usage) };
  if (event.type === 'history.replaced') return { ...state, counted: undefined, stuck: false };
  if (event.type === 'plugin.recorded' && event.data.plugin === pluginName)
    return applyRecord(state, event.data.kind, event.data.data);
  return state;
}

function countedIn(state: CompactionState, usage: Usage | undefined): CompactionState['counted'] {
  const { inputTokens, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  if (inputTokens === undefined) return undefined;
  // Some providers count what came from their cache apart.
  const input = Math.max(inputTokens, cacheReadTokens + cacheWriteTokens);
  return { tokens: input + outputTokens, messages: state.asked + 1 };
}

const fresh = { overflows: 0, media: 0 };

function applyRecord(state: CompactionState, kind: string, data: unknown): CompactionState {
  const record = data as { readonly why?: Reason; readonly model?: string };
  switch (kind) {
    case 'compaction.started':
      return {
        ...state,
        perPrompt: state.perPrompt + 1,
        overflows: state.overflows + (record.why === 'overflow' ? 1 : 0),
        media: state.media + (record.why === 'media' ? 1 : 0),
      };
    case 'compaction.failed':
      return record.why === 'pressure' ? { ...state, stuck: true } : state;
    case 'capacity-unknown':
      return record.model === undefined ? state : { ...state, unknown: [...state.unknown, record.model] };
    default:
      return state;
  }
}
