import { OnwardError } from '../kernel/error.ts';
import { findNonJson, type Json } from '../kernel/json.ts';
import { longestMs } from '../kernel/policy.ts';
import type { ToolSpec } from '../models/model.ts';
import { toFailure } from '../models/to-failure.ts';
import type { AnyTool, DeclaredEffect, StandardSchema } from './tool.ts';

/** Time for one call where a tool sets none, ms. */
const defaultDeadlineMs = 30 * 60_000;

/** A tool that was checked, with its defaults filled in. */
export interface ToolEntry {
  readonly tool: AnyTool;
  readonly spec: ToolSpec;
  /** What it does to the world, with `untracked` where it does not say. */
  readonly effect: 'none' | 'untracked' | DeclaredEffect<unknown>;
  readonly deadlineMs: number;
}

/** The tools of an agent by name. */
export type ToolSet = ReadonlyMap<string, ToolEntry>;

/** Checks tools when they are loaded. Throws `agent/bad-tool` with the place for what could only fail later. */
export function createToolSet(tools: readonly AnyTool[]): ToolSet {
  const set = new Map<string, ToolEntry>();
  for (const [index, tool] of tools.entries()) {
    const place = `tools[${index}]`;
    if (typeof tool !== 'object' || tool === null) throw bad(place, 'is no tool');
    if (typeof tool.name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name))
      throw bad(`${place}.name`, 'must be 1 to 64 letters, digits, _ or -');
    if (set.has(tool.name)) throw bad(`${place}.name`, `is taken: two tools are called ${tool.name}`);
    if (typeof tool.description !== 'string' || !tool.description.isWellFormed())
      throw bad(`${place}.description`, 'must be a text');
    if (typeof tool.run !== 'function') throw bad(`${place}.run`, 'must be a function');
    if (!['undefined', 'boolean', 'function'].includes(typeof tool.parallel))
      throw bad(`${place}.parallel`, 'must be true, false or a function');
    checkApproval(tool, `${place}.approval`);
    const input = jsonSchemaOf(tool, place);
    set.set(tool.name, {
      tool,
      spec: Object.freeze({ name: tool.name, description: tool.description, input }),
      effect: effectOf(tool, place),
      deadlineMs: deadlineOf(tool, place),
    });
  }
  return set;
}

function jsonSchemaOf(tool: AnyTool, place: string): Json {
  const standard = (tool.input as StandardSchema | undefined)?.['~standard'];
  if (typeof standard?.validate !== 'function') throw bad(`${place}.input`, 'must be a Standard Schema, e.g. of Zod 4');
  const schema = tool.inputSchema ?? offeredSchema(standard, place);
  if (schema === undefined)
    throw bad(`${place}.inputSchema`, 'is needed: this schema library does not offer its JSON Schema');
  const plain = plainJson(schema);
  if (plain === undefined) throw bad(`${place}.inputSchema`, 'must be plain JSON');
  return plain;
}

function offeredSchema(standard: StandardSchema['~standard'], place: string): unknown {
  try {
    return standard.jsonSchema?.input({ target: 'draft-2020-12' });
  } catch (error) {
    throw bad(`${place}.inputSchema`, `is needed: the JSON Schema cannot be made (${toFailure(error).message})`);
  }
}

/** Some libraries hang symbols or undefined fields on their schemas: what JSON keeps is what the model sees. */
function plainJson(value: unknown): Json | undefined {
  if (findNonJson(value) === undefined) return value as Json;
  try {
    const copy = JSON.parse(JSON.stringify(value)) as Json;
    return typeof copy === 'object' && copy !== null ? copy : undefined;
  } catch {
    return undefined;
  }
}

function effectOf(tool: AnyTool, place: string): ToolEntry['effect'] {
  const { effect } = tool;
  if (effect === undefined || effect === 'untracked') return 'untracked';
  if (effect === 'none') return 'none';
  if (typeof effect !== 'object' || effect === null)
    throw bad(`${place}.effect`, "must be 'none', 'untracked' or a declaration");
  checkFields(effect, `${place}.effect`, {
    action: 'string',
    identity: 'function',
    resource: 'function',
    lookup: 'function',
  });
  if (effect.scope !== undefined && effect.scope !== 'session' && effect.scope !== 'journal')
    throw bad(`${place}.effect.scope`, "must be 'session' or 'journal'");
  checkPeople(effect.mayAnswer, `${place}.effect.mayAnswer`);
  for (const field of ['settleMs', 'keyLifetimeMs'] as const) {
    const ms = effect[field];
    if (ms !== undefined && !isTime(ms)) throw bad(`${place}.effect.${field}`, 'must be a time in ms');
  }
  return effect as DeclaredEffect<unknown>;
}

function checkApproval({ approval }: AnyTool, place: string): void {
  if (approval === undefined) return;
  if (typeof approval !== 'object' || approval === null) throw bad(place, 'must be an object');
  if (typeof approval.version !== 'string' || approval.version === '' || !approval.version.isWellFormed())
    throw bad(`${place}.version`, 'must be a text that names the rule');
  checkFields(approval, place, { when: 'function', text: 'function' });
  checkPeople(approval.mayAnswer, `${place}.mayAnswer`);
}

function checkFields(object: object, place: string, types: Readonly<Record<string, 'string' | 'function'>>): void {
  for (const [field, type] of Object.entries(types)) {
    const value: unknown = Reflect.get(object, field);
    // oxlint-disable-next-line valid-typeof -- one of the two above
    if (value !== undefined && typeof value !== type) throw bad(`${place}.${field}`, `must be a ${type}`);
    if (value === '') throw bad(`${place}.${field}`, 'must not be empty');
  }
}

function checkPeople(people: unknown, place: string): void {
  if (people === undefined) return;
  if (!Array.isArray(people) || !people.every((one) => typeof one === 'string' && one !== ''))
    throw bad(place, 'must be a list of names');
}

function deadlineOf(tool: AnyTool, place: string): number {
  const ms = tool.deadlineMs === undefined ? defaultDeadlineMs : tool.deadlineMs;
  if (!isTime(ms)) throw bad(`${place}.deadlineMs`, 'must be a time in ms, 0 for none');
  return ms;
}

/** Whole, not negative, at most a year. */
export function isTime(ms: unknown): ms is number {
  return typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= longestMs;
}

function bad(place: string, what: string): OnwardError {
  return new OnwardError('agent/bad-tool', `${place} ${what}.`, { place });
}
