export { goal, type Goal, type GoalTool } from './goal.ts';
export type { GoalLimits, GoalOptions, GoalRound } from './goal-options.ts';
export type { GoalState, GoalStatus, GoalSpent } from './goal-state.ts';
