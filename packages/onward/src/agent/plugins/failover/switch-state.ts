import { OnwardError } from '../../../kernel/error.ts';
import type { FailureClass } from '../../../kernel/failure.ts';
import type { SessionEvent } from '../../plugin.ts';

/** The name of the plugin and of its one kind of record. */
export const pluginName = 'failover';
export const switchedKind = 'failover.switched';

/** Says that the session goes on with another model from here on, and why. Never model-visible. */
export interface SwitchRecord {
  /** The attempt that failed for good. */
  readonly turn: number;
  readonly step: number;
  /** Ids of the models. */
  readonly from: string;
  readonly to: string;
  readonly class: FailureClass;
  readonly rule: string;
  /** One line for people. */
  readonly because: string;
}

/** The one switch of a session, if it was made; and whether a turn is open, and a step of it. */
export interface SwitchState {
  readonly switched?: SwitchRecord;
  readonly open: 'nothing' | 'turn' | 'step';
}

/** The state of a session that has just begun. */
export const notSwitched: SwitchState = { open: 'nothing' };

/** Adds an event. Pure. Throws `journal/bad-event` for a record of ours that cannot be where it is. */
export function applySwitch(state: SwitchState, event: SessionEvent): SwitchState {
  if (event.type === 'turn.opened' || event.type === 'step.closed') return { ...state, open: 'turn' };
  if (event.type === 'step.opened') return { ...state, open: 'step' };
  if (event.type === 'turn.closed') return { ...state, open: 'nothing' };
  if (event.type !== 'plugin.recorded' || event.data.plugin !== pluginName) return state;
  const { kind, data } = event.data;
  const record = data as unknown as SwitchRecord | null;
  if (kind !== switchedKind || typeof record?.from !== 'string' || typeof record.to !== 'string')
    throw refuse(event, 'is no record of a switch');
  if (state.switched !== undefined) throw refuse(event, 'is the second of its session');
  if (state.open !== 'turn') throw refuse(event, 'is not behind a failed step of an open turn');
  return { ...state, switched: record };
}

function refuse(event: SessionEvent, what: string): OnwardError {
  const place = `${event.stream}@${event.position}`;
  return new OnwardError('journal/bad-event', `The switch of models at ${place} ${what}.`, { place });
}
