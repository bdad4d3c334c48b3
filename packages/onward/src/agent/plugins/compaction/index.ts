/** Makes a history fit again: prunes, summarises, replaces images that are refused; each within a finite budget. */
export { compaction } from './compaction.ts';
export type { CompactionOptions } from './compaction-options.ts';
