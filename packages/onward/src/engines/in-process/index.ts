export { createInProcessEngine, type InProcessOptions } from './in-process-engine.ts';
