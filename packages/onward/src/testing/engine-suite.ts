import { callingCases } from './engine-cases/calling-cases.ts';
import { endingCases } from './engine-cases/ending-cases.ts';
import type { EngineCase } from './engine-cases/engine-rig.ts';
import { findingCases } from './engine-cases/finding-cases.ts';

export type { EngineCase, EngineRig } from './engine-cases/engine-rig.ts';

/** The conformance suite of engines, as data: run each case with a fresh rig, in whatever test runner. */
export const engineSuite: readonly EngineCase[] = [...callingCases, ...findingCases, ...endingCases];
