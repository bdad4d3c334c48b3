import type { FinishReason, ModelPart, Opaque, Usage } from '../models/model.ts';
import { copyJson } from './copy-json.ts';
import { readFailure } from './read-failure.ts';

const reasons: readonly FinishReason[] = ['stop', 'calls', 'length', 'content-filter', 'other'];

/**
 * A part of a stream as it can be used: of a known type, every field of its type, a copy of plain data. `undefined` for
 * anything else. Text may still begin or end with half a character, as streams are cut anywhere.
 */
export function readPart(value: unknown, now: number): ModelPart | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const part = value as { readonly [key: string]: unknown };
  switch (part['type']) {
    case 'delta': {
      const { block, text } = part;
      return isNumber(block) && typeof text === 'string' ? { type: 'delta', block, text } : undefined;
    }
    case 'started':
      return { type: 'started', ...wordField('requestId', part['requestId']) };
    case 'block':
      return readBlock(part);
    case 'end':
      return readEnd(part);
    case 'usage':
      return { type: 'usage', usage: readUsage(part['usage']) ?? {} };
    case 'finish': {
      const reason = reasons.find((known) => known === part['reason']);
      const usage = readUsage(part['usage']);
      if (reason === undefined) return undefined;
      return { type: 'finish', reason, ...(usage === undefined ? {} : { usage }), ...wordField('raw', part['raw']) };
    }
    case 'failed':
      return { type: 'failed', failure: readFailure(part['failure'], now) };
    default:
      return undefined;
  }
}

function readBlock(part: { readonly [key: string]: unknown }): ModelPart | undefined {
  const { block, kind, id, tool } = part;
  if (!isNumber(block)) return undefined;
  if (kind === 'text' || kind === 'thinking') return { type: 'block', block, kind };
  if (kind !== 'call' || typeof id !== 'string' || typeof tool !== 'string' || tool === '') return undefined;
  return { type: 'block', block, kind, id: id.toWellFormed(), tool: tool.toWellFormed() };
}

function readEnd(part: { readonly [key: string]: unknown }): ModelPart | undefined {
  const { block, text, opaque } = part;
  if (!isNumber(block) || (text !== undefined && typeof text !== 'string')) return undefined;
  if (opaque === undefined) return { type: 'end', block, ...(text === undefined ? {} : { text }) };
  const copy = copyJson(opaque);
  // Half of a signature is worse than none: the provider would refuse the whole history for it.
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) return undefined;
  return { type: 'end', block, ...(text === undefined ? {} : { text }), opaque: copy as Opaque };
}

/** The amounts that are amounts; some providers send NaN, or null, for what they do not know. */
function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const usage: { -readonly [K in keyof Usage]: number } = {};
  for (const field of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'usd'] as const) {
    const amount: unknown = Reflect.get(value, field);
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) usage[field] = amount + 0;
  }
  return usage;
}

function wordField<Field extends string>(field: Field, value: unknown): { readonly [K in Field]?: string } {
  if (typeof value !== 'string' || value === '') return {};
  return { [field]: value.slice(0, 200).toWellFormed() } as { readonly [K in Field]?: string };
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
