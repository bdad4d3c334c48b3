import type { PlanEntry, PlanEntryStatus } from '@agentclientprotocol/sdk';
import type { Json } from '../kernel/json.ts';

/** The tool by which plan mode proposes a plan (`agent/plugins/plan-mode`); its input is `{ plan: Markdown }`. */
export const planTool = 'propose_plan';

const item = /^\s{0,3}(?:[-*+]|\d{1,3}[.)])\s+(.*\S)/;

/** A plan in Markdown as the entries of ACP: its top-level list items, or all of it as one. */
export function planEntries(input: Json, status: PlanEntryStatus): PlanEntry[] {
  const text = typeof input === 'object' && input !== null && 'plan' in input ? input['plan'] : undefined;
  if (typeof text !== 'string' || text.trim() === '') return [];
  const items = text.split('\n').flatMap((line) => item.exec(line)?.[1] ?? []);
  return (items.length > 0 ? items : [text.trim()]).map((content) => ({ content, priority: 'medium', status }));
}
