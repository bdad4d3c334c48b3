export type { AlteredField, Damage, JournalCapability, JournalCase, JournalHarness } from './journal-case.ts';
export { type ElsewhereReport, type ElsewhereWork, workElsewhere } from './journal-cases/elsewhere.ts';
export { journalContract, skipReason } from './journal-suite.ts';
export { engineSuite, type EngineCase, type EngineRig } from './engine-suite.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export { createScriptedWork, type ScriptedWork, type SeenCall } from './scripted-work.ts';
export { createGate, type Gate } from './gate.ts';
export { createFixedIds, createFixedRandom, testHash } from './fixed-ports.ts';
export {
  createScriptedModel,
  type ModelScript,
  type ScriptedItem,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
  type ScriptFunction,
} from './scripted-model.ts';
