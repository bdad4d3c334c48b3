import type { Program } from './program.ts';
import { runOnward } from './run-onward.ts';

/** Onward with its defaults, and a tool that says nothing of its effect. */
export const program: Program = (task) => runOnward(task, false);
