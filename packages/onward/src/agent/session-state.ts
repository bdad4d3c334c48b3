import { OnwardError } from '../kernel/error.ts';
import type { CallPart, Message, TextPart, ThinkingPart, Usage } from '../models/model.ts';
import type { FinalSettlement } from './agent-api.ts';
import type { CallOutcome, Header, MessageKind, SessionEvent, Trigger, UserContent } from './session-events.ts';
import { deepFreeze } from './deep-freeze.ts';
import { addUsage, settlementOf, textOf } from './settlement.ts';

/** A message that is durable and not yet part of the history. */
export interface Queued {
  readonly id: string;
  readonly kind: MessageKind;
  readonly content: UserContent;
}

/** One call of the answer under way. */
export interface CallState {
  readonly call: CallPart;
  readonly started: boolean;
  /** The question that it waits for. */
  readonly question?: string;
  readonly outcome?: CallOutcome;
}

/** The step under way, from its barrier to its close. */
export interface OpenStep {
  readonly step: number;
  readonly model: string;
  readonly parts: (TextPart | ThinkingPart | CallPart)[];
  answered: boolean;
  readonly calls: Map<string, CallState>;
}

/** The turn under way. */
export interface OpenTurn {
  readonly turn: number;
  readonly chain: number;
  readonly trigger: Trigger;
  /** Sticky: one answer of the turn was cut by the token limit. */
  maxTokens: boolean;
  lastStep: number;
  step?: OpenStep;
}

/** The turns of one prompt: the first and its retries. */
export interface Chain {
  readonly root: number;
  readonly prompt: string;
  /** Of the last answer that had any. */
  text: string;
  usage: Usage;
}

/** Where a prompt stands. */
export type PromptState =
  | { readonly state: 'queued' }
  | { readonly state: 'running' }
  | { readonly state: 'ended'; readonly settlement: FinalSettlement };

/** Amounts that count against limits. */
export interface Spent {
  attempts: number;
  tokens: number;
  usd: number;
  toolCalls: number;
}

/** What a session's events add up to. Owned by its fold, which changes it in place: a history may be long. */
export interface SessionState {
  position: number;
  name: string | undefined;
  readonly prompts: Map<string, PromptState>;
  /** Prompts in order, and input for the next request in order of acceptance. */
  queue: Queued[];
  staged: Queued[];
  /** Number of the turn opened last. */
  turn: number;
  open: OpenTurn | undefined;
  chain: Chain | undefined;
  header: Header | undefined;
  /** The model's history. Grows in place: a request takes a copy. */
  history: Message[];
  generation: number;
  /** The history has parts of more than one model. */
  models: Set<string>;
  readonly spent: { readonly session: Spent; chain: Spent };
}

/** The state of an empty stream. */
export function emptySession(): SessionState {
  return {
    position: 0,
    name: undefined,
    prompts: new Map(),
    queue: [],
    staged: [],
    turn: 0,
    open: undefined,
    chain: undefined,
    header: undefined,
    history: [],
    generation: 0,
    models: new Set(),
    spent: { session: nothingSpent(), chain: nothingSpent() },
  };
}

function nothingSpent(): Spent {
  return { attempts: 0, tokens: 0, usd: 0, toolCalls: 0 };
}

/** Adds one event, in place. Throws `journal/bad-event` with its place where it cannot follow what came before. */
export function applySessionEvent(state: SessionState, event: SessionEvent): void {
  applyTo(state, event);
  state.position = event.position;
}

function applyTo(state: SessionState, event: SessionEvent): void {
  switch (event.type) {
    case 'session.created':
      state.name = event.data.name;
      return;
    case 'message.accepted':
    case 'message.dropped':
    case 'input.committed':
    case 'history.replaced':
      return applyMessage(state, event);
    case 'turn.opened':
    case 'turn.closed':
      return applyTurn(state, event);
    case 'header.set':
      state.header = event.data;
      return;
    case 'step.opened':
    case 'block.closed':
    case 'answer.completed':
    case 'answer.interrupted':
    case 'step.closed':
      return applyStep(state, event);
    case 'call.waiting':
    case 'call.started':
    case 'call.finished':
      return applyCall(state, event);
    case 'aside.finished':
      return spend(state, event.data.usage, 1);
    case 'cancel.requested':
    case 'plugin.recorded':
      return;
    default:
      // An `ignorable` event of a newer program has been dropped before; nothing else can come here.
      return refuse(event, 'is of no known type');
  }
}

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>;

function applyMessage(
  state: SessionState,
  event: Of<'message.accepted' | 'message.dropped' | 'input.committed' | 'history.replaced'>,
): void {
  switch (event.type) {
    case 'message.accepted': {
      const { id, kind, content } = event.data;
      if (state.prompts.has(id) || state.staged.some((message) => message.id === id))
        refuse(event, 'accepts a message twice');
      if (kind === 'prompt') {
        state.queue.push({ id, kind, content });
        state.prompts.set(id, { state: 'queued' });
      } else state.staged.push({ id, kind, content });
      return;
    }
    case 'message.dropped': {
      const gone = new Set(event.data.ids);
      state.queue = state.queue.filter(({ id }) => !gone.has(id));
      state.staged = state.staged.filter(({ id }) => !gone.has(id));
      for (const id of gone)
        if (state.prompts.has(id)) state.prompts.set(id, { state: 'ended', settlement: droppedAs(event.data.because) });
      return;
    }
    case 'input.committed':
      for (const item of event.data.items) {
        const taken = takeQueued(state, item.id);
        if (taken === undefined) refuse(event, `commits a message that is not queued: ${item.id}`);
        else enter(state, { role: 'user', content: item.content ?? taken.content });
      }
      return;
    case 'history.replaced': {
      const { from, to, messages, generation } = event.data;
      if (generation !== state.generation + 1 || from < 0 || to < from || to > state.history.length)
        refuse(event, 'replaces what is not there');
      state.history = [...state.history.slice(0, from), ...deepFreeze(messages), ...state.history.slice(to)];
      state.generation = generation;
    }
  }
}

function droppedAs(because: string): FinalSettlement {
  return because.startsWith('cancelled: ')
    ? { kind: 'cancelled', cause: because.slice('cancelled: '.length) }
    : { kind: 'blocked', because };
}

function takeQueued(state: SessionState, id: string): Queued | undefined {
  for (const list of [state.queue, state.staged]) {
    const index = list.findIndex((message) => message.id === id);
    if (index >= 0) return list.splice(index, 1)[0];
  }
  return undefined;
}

function applyTurn(state: SessionState, event: Of<'turn.opened' | 'turn.closed'>): void {
  const { turn, chain } = event.data;
  if (event.type === 'turn.opened') {
    if (state.open !== undefined || turn !== state.turn + 1) refuse(event, 'opens a turn out of order');
    const { trigger } = event.data;
    state.turn = turn;
    state.open = { turn, chain, trigger, maxTokens: false, lastStep: 0 };
    if (trigger.kind === 'prompt') {
      state.chain = { root: chain, prompt: trigger.id, text: '', usage: {} };
      state.spent.chain = nothingSpent();
    }
    if (state.chain?.root === chain) state.prompts.set(state.chain.prompt, { state: 'running' });
    return;
  }
  if (state.open?.turn !== turn || state.open.step !== undefined) refuse(event, 'closes a turn that is not open');
  state.open = undefined;
  if (state.chain?.root !== chain) return;
  const settlement = settlementOf(turn, event.data.end, state.chain);
  state.prompts.set(state.chain.prompt, { state: 'ended', settlement });
}

function applyStep(
  state: SessionState,
  event: Of<'step.opened' | 'block.closed' | 'answer.completed' | 'answer.interrupted' | 'step.closed'>,
): void {
  if (event.type === 'step.opened') {
    const { open } = state;
    const { turn, step, model } = event.data;
    if (open === undefined || open.turn !== turn || open.step !== undefined || step !== open.lastStep + 1)
      return refuse(event, 'opens a step out of order');
    open.step = { step, model, parts: [], answered: false, calls: new Map() };
    open.lastStep = step;
    return spend(state, undefined, 1);
  }
  const { open, step } = stepOf(state, event);
  switch (event.type) {
    case 'block.closed':
      if (event.data.block !== step.parts.length) refuse(event, 'closes a block out of order');
      step.parts.push(event.data.part);
      return;
    case 'answer.completed': {
      if (step.answered || event.data.blocks !== step.parts.length) refuse(event, 'completes another answer');
      step.answered = true;
      commitAnswer(state, step.model, step.parts);
      for (const part of step.parts) if (part.type === 'call') step.calls.set(part.id, { call: part, started: false });
      if (event.data.finish === 'length') open.maxTokens = true;
      return spend(state, event.data.usage, 0);
    }
    case 'answer.interrupted':
      step.answered = true;
      return commitAnswer(state, step.model, event.data.parts);
    case 'step.closed':
      if ([...step.calls.values()].some(({ outcome }) => outcome === undefined))
        refuse(event, 'closes a step with open calls');
      delete open.step;
      return spend(state, event.data.usage, 0);
  }
}

function commitAnswer(
  state: SessionState,
  model: string,
  parts: readonly (TextPart | ThinkingPart | CallPart)[],
): void {
  if (parts.length === 0) return;
  enter(state, { role: 'assistant', content: [...parts], model });
  state.models.add(model);
  const text = textOf(parts);
  if (state.chain !== undefined && text.trim() !== '') state.chain.text = text;
}

function applyCall(state: SessionState, event: Of<'call.waiting' | 'call.started' | 'call.finished'>): void {
  const { step } = stepOf(state, event);
  const known = step.calls.get(event.data.id);
  if (known === undefined || known.outcome !== undefined) return refuse(event, 'speaks of a call that is not open');
  switch (event.type) {
    case 'call.waiting':
      step.calls.set(event.data.id, { ...known, question: event.data.question });
      return;
    case 'call.started': {
      const { call } = known;
      step.calls.set(event.data.id, { call, started: true });
      return;
    }
    case 'call.finished':
      step.calls.set(event.data.id, { ...known, outcome: event.data.outcome });
      if (event.data.outcome.ok || event.data.outcome.code !== 'limit') countCall(state);
      if ([...step.calls.values()].every(({ outcome }) => outcome !== undefined)) commitResults(state, step);
  }
}

/** All results of the batch at once and in the order of the calls, so that nothing can come between a call and its result. */
function commitResults(state: SessionState, step: OpenStep): void {
  const content = [...step.calls.values()].map(({ call, outcome }) =>
    outcome?.ok === true
      ? { type: 'result' as const, id: call.id, tool: call.tool, output: outcome.output }
      : { type: 'result' as const, id: call.id, tool: call.tool, output: faultText(outcome), isError: true },
  );
  enter(state, { role: 'tool', content });
}

function faultText(outcome: CallOutcome | undefined): string {
  return outcome === undefined || outcome.ok ? '' : `[${outcome.code}] ${outcome.message}`;
}

/** Frozen all the way down: a request hands the history to a model, and no model may change what is on record. */
function enter(state: SessionState, message: Message): void {
  state.history.push(deepFreeze(message));
}

function countCall(state: SessionState): void {
  state.spent.session.toolCalls += 1;
  state.spent.chain.toolCalls += 1;
}

function spend(state: SessionState, usage: Usage | undefined, attempts: number): void {
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  for (const spent of [state.spent.session, state.spent.chain]) {
    spent.attempts += attempts;
    spent.tokens += tokens;
    spent.usd += usage?.usd ?? 0;
  }
  if (state.chain !== undefined && usage !== undefined) state.chain.usage = addUsage(state.chain.usage, usage);
}

function stepOf(
  state: SessionState,
  event: SessionEvent & { readonly data: { readonly turn: number; readonly step: number } },
): { readonly open: OpenTurn; readonly step: OpenStep } {
  const { open } = state;
  if (open?.step === undefined || open.turn !== event.data.turn || open.step.step !== event.data.step)
    return refuse(event, 'belongs to a step that is not open');
  return { open, step: open.step };
}

function refuse(event: SessionEvent, what: string): never {
  throw new OnwardError('journal/bad-event', `${event.stream}@${event.position} (${event.type}) ${what}.`, {
    place: `${event.stream}@${event.position}`,
    next: ['The session was written by a program with a defect; it is not continued from here.'],
  });
}
