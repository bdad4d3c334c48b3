/** Goes on with a second model where the first does not come back: one switch, on record, with the whole transcript. */
export { failover } from './failover.ts';
export type { FailoverClass, FailoverOptions } from './failover-options.ts';
export type { SwitchRecord } from './switch-state.ts';
