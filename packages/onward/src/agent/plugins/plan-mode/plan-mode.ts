import { OnwardError } from '../../../kernel/error.ts';
import type { CallDecision, CallView, Plugin, PluginHost, RequestDraft } from '../../plugin.ts';
import {
  addToPlan,
  firstPlanState,
  type Mode,
  pluginName,
  type PlanState,
  type Proposal,
  toolName,
} from './plan-state.ts';
import { approvalText, approvalVersion, proposePlan, type PlanTool } from './propose-plan.ts';

export type { PlanTool } from './propose-plan.ts';

/** Everything has a default. */
export interface PlanModeOptions {
  /** The mode of a new session; later the log decides. Default `planning`. */
  readonly start?: Mode;
  /** Added to the system prompt while planning. Default: three sentences in English. */
  readonly instructions?: string;
  /** Who may answer the question about a plan; empty (default) = anyone. */
  readonly mayAnswer?: readonly string[];
}

/** The plugin, its tool, and the switch for a person. One per agent. */
export interface PlanMode extends Plugin {
  /** Give these to the agent, too: without `propose_plan` only a person can leave plan mode. */
  readonly tools: readonly PlanTool[];
  /** Goes (back) to planning; durable when it resolves. The next request carries it, also one of a retry turn. */
  enter(by?: string): Promise<void>;
  /** Lets calls have effects without an approved plan. A question about a plan that is open stays open. */
  leave(by?: string): Promise<void>;
  mode(): Mode;
  /** The plan that was proposed last. */
  proposal(): Proposal | undefined;
}

const defaultInstructions =
  'Plan mode is on. Look, read and think as you like, but change nothing: calls that may have an effect are refused. ' +
  `When you know what to do, call ${toolName} with the whole plan and wait for the answer.`;

const notices: { readonly [mode in Mode]: string } = {
  planning: `[Plan mode was switched on. From here on change nothing; propose a plan with ${toolName} first.]`,
  acting: '[Plan mode was switched off. You may make changes from here on.]',
};

/**
 * Refuses calls with effects until a plan is approved. Put it first in the list of plugins: a plugin before it that
 * allows a call decides instead of it. Throws `config/bad-value` for bad options; its methods throw
 * `agent/plugin-not-loaded` before an agent has loaded it.
 */
export function planMode(options: PlanModeOptions = {}): PlanMode {
  const { start, instructions, mayAnswer } = checked(options);
  let loaded: { readonly host: PluginHost; readonly state: () => PlanState } | undefined;
  const own = (): NonNullable<typeof loaded> => {
    if (loaded !== undefined) return loaded;
    throw new OnwardError('agent/plugin-not-loaded', 'Plan mode is not part of an agent yet.', {
      next: ['Give it to createAgent as one of its plugins first.'],
    });
  };
  const flip = async (kind: 'mode.entered' | 'mode.left', to: Mode, by: string): Promise<void> => {
    const { host, state } = own();
    if (host.lifetime.aborted)
      throw new OnwardError('agent/disposed', 'The agent of this plan mode is disposed.', {
        next: ['Open it again, with this plan mode as one of its plugins.'],
      });
    if (state().mode !== to) await host.record(kind, { by });
  };
  return {
    name: pluginName,
    tools: [proposePlan(mayAnswer)],
    setup(host) {
      if (loaded?.host.lifetime.aborted === false)
        throw new OnwardError('agent/plugin-in-use', 'This plan mode belongs to another agent already.', {
          next: ['Make one for each agent.'],
        });
      const state = host.fold(firstPlanState(start), addToPlan);
      loaded = { host, state };
      host.on('agent/tool-call', async ({ call }, next) => decide(state().mode, call) ?? (await next()));
      host.on('agent/request', async (_, next) => withSuffix(await next(), state().mode, instructions));
      // Here and not in `flip`: a crash between the record and the message cannot lose it, and each flip is told once.
      host.on('agent/pre-step', async (_, next) => {
        if (state().unannounced) host.inject(notices[state().mode]);
        await next();
      });
    },
    enter: (by = 'user') => flip('mode.entered', 'planning', by),
    leave: (by = 'user') => flip('mode.left', 'acting', by),
    mode: () => own().state().mode,
    proposal: () => own().state().proposal,
  };
}

/** Never asks downstream about a call that it refuses or that a person must decide on. */
function decide(mode: Mode, call: CallView): CallDecision | undefined {
  if (call.tool === toolName) {
    return mode === 'planning'
      ? { kind: 'ask', text: approvalText, policyVersion: approvalVersion }
      : { kind: 'deny', because: 'plan mode is off, there is nothing to approve: go on with the work.' };
  }
  if (mode === 'acting' || !call.effect) return undefined;
  return {
    kind: 'deny',
    because:
      `plan mode is on, and ${call.tool} may change something. Use tools that only read; ` +
      `when you know what to do, call ${toolName} and repeat this call after the plan was approved.`,
  };
}

function withSuffix(draft: RequestDraft, mode: Mode, instructions: string): RequestDraft {
  if (mode === 'acting') return draft;
  return { ...draft, system: draft.system === '' ? instructions : `${draft.system}\n\n${instructions}` };
}

function checked(options: PlanModeOptions): Required<PlanModeOptions> {
  if (typeof options !== 'object' || options === null) throw bad('', 'an object');
  const { start = 'planning', instructions = defaultInstructions, mayAnswer = [], ...rest } = options;
  for (const key of Object.keys(rest)) throw bad(`.${key}`, 'left out: there is no such option');
  if (start !== 'planning' && start !== 'acting') throw bad('.start', "'planning' or 'acting'");
  if (typeof instructions !== 'string' || instructions.trim() === '') throw bad('.instructions', 'a text');
  if (!Array.isArray(mayAnswer) || mayAnswer.some((who) => typeof who !== 'string' || who === ''))
    throw bad('.mayAnswer', 'a list of names');
  return { start, instructions, mayAnswer: [...mayAnswer] };
}

function bad(path: string, must: string): OnwardError {
  const place = `planMode${path}`;
  return new OnwardError('config/bad-value', `${place} must be ${must}.`, { place });
}
