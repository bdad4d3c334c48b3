import type { Program } from './program.ts';
import { runOnward } from './run-onward.ts';

/** Onward with its defaults. The tool declares its effect: what it does can be looked up. */
export const program: Program = (task) => runOnward(task, true);
