import { OnwardError } from '../../../kernel/error.ts';
import type { SessionEvent } from '../../plugin.ts';

/** `planning`: calls with effects are refused. */
export type Mode = 'planning' | 'acting';

/** The plan that was proposed last. `withdrawn`: cancelled, or its process died, before somebody decided. */
export interface Proposal {
  readonly text: string;
  readonly state: 'open' | 'approved' | 'rejected' | 'withdrawn';
  /** Id of the question; who answered, and what, is in its stream. */
  readonly question?: string;
  /** What the rejection says. */
  readonly note?: string;
}

interface CallId {
  readonly turn: number;
  readonly step: number;
  readonly id: string;
}

/** What the log says about planning. */
export interface PlanState {
  readonly mode: Mode;
  readonly proposal: (Proposal & { readonly call: CallId }) | undefined;
  /** The model has not yet been told of the latest flip. */
  readonly unannounced: boolean;
  /** Calls of the latest step that propose something; nobody has been asked about them yet. */
  readonly asking: readonly (CallId & { readonly text: string })[];
}

/** The state of a session that has just begun. */
export function firstPlanState(mode: Mode): PlanState {
  return { mode, proposal: undefined, unannounced: false, asking: [] };
}

/** Name of the plugin and of its records. */
export const pluginName = 'plan-mode';

/** The tool by which the model proposes a plan. */
export const toolName = 'propose_plan';

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>;
type Steps = { readonly [Type in SessionEvent['type']]?: (state: PlanState, event: Of<Type>) => PlanState };

const steps: Steps = {
  'plugin.recorded': (state, event) => (event.data.plugin === pluginName ? flip(state, event) : state),
  'message.accepted': (state, { data }) => (data.from === pluginName ? { ...state, unannounced: false } : state),
  'step.opened': (state) => (state.asking.length === 0 ? state : { ...state, asking: [] }),
  'block.closed': propose,
  'call.waiting': ask,
  'call.started': (state, { data }) => (openProposal(state, data) ? decided(state, 'approved') : state),
  'call.finished': (state, event) => (openProposal(state, event.data) ? finish(state, event) : state),
  'step.closed': (state) => (state.proposal?.state === 'open' ? decided(state, 'withdrawn') : state),
};

/**
 * Adds one event. A flip by a person is a record of the plugin. An approval is none: the start of the call is stored
 * together with using up the answer, so the mode changes in that same durable moment, and no crash can come between.
 */
export function addToPlan(state: PlanState, event: SessionEvent): PlanState {
  const step = steps[event.type] as ((state: PlanState, event: SessionEvent) => PlanState) | undefined;
  return step === undefined ? state : step(state, event);
}

function flip(state: PlanState, event: Of<'plugin.recorded'>): PlanState {
  const mode = modes[event.data.kind];
  if (mode === undefined)
    throw new OnwardError('journal/bad-event', `${event.stream}@${event.position} is no record of plan mode.`, {
      place: `${event.stream}@${event.position}`,
      next: ['Update onward: a newer program wrote this session.'],
    });
  // Two flips that cancel each other out before the model heard of either are no news.
  return mode === state.mode ? state : { ...state, mode, unannounced: !state.unannounced };
}

const modes: { readonly [kind: string]: Mode | undefined } = { 'mode.entered': 'planning', 'mode.left': 'acting' };

function propose(state: PlanState, event: Of<'block.closed'>): PlanState {
  const { turn, step, part } = event.data;
  if (part.type !== 'call' || part.tool !== toolName) return state;
  return { ...state, asking: [...state.asking, { turn, step, id: part.id, text: planOf(part.input) ?? '' }] };
}

function ask(state: PlanState, event: Of<'call.waiting'>): PlanState {
  const call = state.asking.find((one) => isSame(one, event.data));
  if (call === undefined) return state;
  const { text, ...id } = call;
  return { ...state, proposal: { text, state: 'open', question: event.data.question, call: id } };
}

/** The plan in a call's input; `undefined` when there is none. */
export function planOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null || !('plan' in input)) return undefined;
  return typeof input.plan === 'string' && input.plan.trim() !== '' ? input.plan : undefined;
}

function isSame(a: CallId, b: CallId): boolean {
  return a.id === b.id && a.step === b.step && a.turn === b.turn;
}

function openProposal({ proposal }: PlanState, call: CallId): boolean {
  return proposal?.state === 'open' && isSame(proposal.call, call);
}

/** An approval is told by the result of the call, so there is nothing left to announce. */
function decided(state: PlanState, to: Exclude<Proposal['state'], 'open'>, note?: string): PlanState {
  if (state.proposal === undefined) return state;
  const proposal = { ...state.proposal, state: to, ...(note === undefined ? {} : { note }) };
  return to === 'approved' ? { ...state, proposal, mode: 'acting', unannounced: false } : { ...state, proposal };
}

function finish(state: PlanState, event: Of<'call.finished'>): PlanState {
  const { outcome } = event.data;
  if (outcome.ok) return decided(state, 'approved');
  return outcome.code === 'denied' ? decided(state, 'rejected', outcome.message) : decided(state, 'withdrawn');
}
