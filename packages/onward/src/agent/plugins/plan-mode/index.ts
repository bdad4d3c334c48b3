export { planMode, type PlanMode, type PlanModeOptions, type PlanTool } from './plan-mode.ts';
export type { Mode, Proposal } from './plan-state.ts';
