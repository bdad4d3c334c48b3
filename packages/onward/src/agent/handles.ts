import { assertNever, OnwardError } from '../kernel/error.ts';
import type { Question } from '../kernel/question.ts';
import type { AgentEvent, FinalSettlement, PromptHandle, Settlement } from './agent-api.ts';
import type { Feed } from './feed.ts';
import type { PromptState } from './session-state.ts';

/** The handles that somebody may wait on. */
export interface Handles {
  /** The handle of a prompt in this state; the same one each time while it is not settled. */
  of(id: string, state: PromptState, acceptedAt: number): PromptHandle;
  settle(id: string, settlement: FinalSettlement): void;
  /** The first stop of a prompt that runs: a question; also for a handle that is asked for while it waits. */
  wait(id: string, turn: number, question: Question): void;
  /** It goes on. */
  goOn(): void;
}

interface Live {
  readonly handle: PromptHandle;
  readonly settle: (settlement: Settlement) => void;
  readonly end: (settlement: FinalSettlement) => void;
}

/** No handles yet. */
export function createHandles(feed: Feed): Handles {
  const live = new Map<string, Live>();
  let waiting: { readonly id: string; readonly stop: Settlement } | undefined;
  return {
    of(id, state, acceptedAt) {
      const known = live.get(id);
      if (known !== undefined) return known.handle;
      const made = createHandle(id, feed, acceptedAt);
      if (state.state === 'ended') {
        made.settle(state.settlement);
        made.end(state.settlement);
      } else {
        live.set(id, made);
        if (waiting?.id === id) made.settle(waiting.stop);
      }
      return made.handle;
    },
    settle(id, settlement) {
      const known = live.get(id);
      live.delete(id);
      known?.settle(settlement);
      known?.end(settlement);
    },
    wait(id, turn, question) {
      waiting = { id, stop: { kind: 'waiting', turn, question } };
      live.get(id)?.settle(waiting.stop);
    },
    goOn() {
      waiting = undefined;
    },
  };
}

function createHandle(id: string, feed: Feed, acceptedAt: number): Live {
  const { promise: settled, resolve: settle } = Promise.withResolvers<Settlement>();
  const { promise: ended, resolve: end } = Promise.withResolvers<FinalSettlement>();
  const handle: PromptHandle = {
    id,
    settled,
    ended,
    async orThrow() {
      return textOrThrow(await settled);
    },
    events: (options = {}) =>
      ofChain(id, feed.read({ after: acceptedAt, signal: options.signal, until: ended }), options.after ?? 0),
  };
  return { handle, settle, end };
}

/**
 * The events of the turns that a prompt opened, and of its own acceptance; and live ones of those turns. Read from the
 * beginning, since only that says which turns these are; told from `after` on.
 */
async function* ofChain(id: string, events: AsyncIterable<AgentEvent>, after: number): AsyncGenerator<AgentEvent> {
  let chain: number | undefined;
  let turn: number | undefined;
  /** The turns of a chain have no other between them: these are its own. */
  let latest = 0;
  for await (const event of events) {
    if (event.type === 'live.status') continue;
    if (event.type === 'turn.opened') {
      if (event.data.trigger.kind === 'prompt' && event.data.trigger.id === id) chain = event.data.chain;
      turn = event.data.chain === chain ? event.data.turn : undefined;
      latest = turn ?? latest;
    }
    if (event.type === 'live.delta' || event.type === 'live.call') {
      // A turn is durable before its first request, so that whoever reads this knows whose it is.
      if (chain !== undefined && event.turn >= chain && event.turn <= latest) yield event;
      continue;
    }
    const own = event.type === 'message.accepted' && event.data.id === id;
    if ((own || turn !== undefined) && event.position > after) yield event;
    if (event.type === 'turn.closed') turn = undefined;
  }
}

function textOrThrow(settlement: Settlement): string {
  if (settlement.kind === 'done') return settlement.text;
  throw new OnwardError(`agent/${settlement.kind}`, sentenceOf(settlement), {
    cause: settlement,
    next: nextOf(settlement),
  });
}

function nextOf(settlement: Exclude<Settlement, { readonly kind: 'done' }>): readonly string[] {
  switch (settlement.kind) {
    case 'waiting':
      return [`Answer question ${settlement.question.id}.`];
    case 'incomplete':
      return ['Raise settings.maxOutputTokens, or ask for the rest with another followup.'];
    case 'limit':
      return [`Raise ${settlement.unit} in the limits of the agent.`];
    case 'failed':
      return settlement.retryAt === undefined
        ? []
        : [`Send it again after ${new Date(settlement.retryAt).toISOString()}.`];
    case 'cancelled':
    case 'blocked':
      return [];
    case 'interrupted':
      return ['Look at the history, then send a prompt to go on.'];
    default:
      return assertNever(settlement, 'a settlement');
  }
}

function sentenceOf(settlement: Exclude<Settlement, { readonly kind: 'done' }>): string {
  switch (settlement.kind) {
    case 'incomplete':
      return 'The answer was cut by the token limit.';
    case 'waiting':
      return `A question must be answered first: ${settlement.question.text}`;
    case 'failed':
      return `The request failed for good (${settlement.class}): ${settlement.failure.message}`;
    case 'cancelled':
      return `The prompt was cancelled (${settlement.cause}).`;
    case 'blocked':
      return `The prompt was not admitted: ${settlement.because}`;
    case 'limit':
      return `The limit of ${settlement.limit} ${settlement.unit} is used up.`;
    case 'interrupted':
      return 'The process that ran it died before it was done.';
    default:
      return assertNever(settlement, 'a settlement');
  }
}
