import { OnwardError } from '../kernel/error.ts';
import { findNonJson } from '../kernel/json.ts';
import type { AgentOptions } from './agent-options.ts';
import { checkLimits } from './limits.ts';
import { isTime } from './tool-set.ts';

/** Throws `agent/bad-option` with the path of the first option that could only fail later. */
export function checkOptions(options: AgentOptions): void {
  checkModel(options);
  checkTexts(options);
  checkSettings(options.settings);
  const { parallelCalls, watchdogs, limits } = options;
  if (parallelCalls !== undefined && !isWhole(parallelCalls, 1, 1_000))
    throw bad('parallelCalls', 'a whole number from 1 to 1,000');
  for (const [field, ms] of fieldsOf('watchdogs', watchdogs, ['headersMs', 'idleMs']))
    if (!isTime(ms)) throw bad(`watchdogs.${field}`, 'a time in ms, at most a year; 0 for none');
  fieldsOf('limits', limits, ['session', 'turn', 'within']);
  checkLimits(limits ?? {});
}

function checkModel({ model }: AgentOptions): void {
  if (
    typeof model?.stream !== 'function' ||
    typeof model.id !== 'string' ||
    model.id === '' ||
    !model.id.isWellFormed()
  )
    throw bad('model', 'a model with an id, e.g. aiSdkModel(anthropic(...))');
  const { contextTokens } = model;
  if (contextTokens !== undefined && !isWhole(contextTokens, 1, Number.MAX_SAFE_INTEGER))
    throw bad('model.contextTokens', 'a whole number of tokens above 0');
}

function checkTexts({ name, instructions, onStatus, tools, plugins }: AgentOptions): void {
  if (name !== undefined && (typeof name !== 'string' || !name.isWellFormed() || name.length > 1_000))
    throw bad('name', 'a text of at most 1,000 characters');
  if (instructions !== undefined && typeof instructions !== 'string' && typeof instructions !== 'function')
    throw bad('instructions', 'a text, or a function that returns one');
  if (typeof instructions === 'string' && !instructions.isWellFormed())
    throw bad('instructions', 'a text without halves of characters (lone surrogates)');
  if (onStatus !== undefined && typeof onStatus !== 'function') throw bad('onStatus', 'a function');
  if (tools !== undefined && !Array.isArray(tools)) throw bad('tools', 'a list of tools');
  if (plugins !== undefined && !Array.isArray(plugins)) throw bad('plugins', 'a list of plugins');
}

function checkSettings(settings: AgentOptions['settings']): void {
  const known = ['maxOutputTokens', 'temperature', 'toolChoice', 'providerOptions'] as const;
  for (const [field, value] of fieldsOf('settings', settings, known)) {
    const place = findNonJson(value);
    if (place !== undefined) throw bad(`settings.${field}${place.slice(1)}`, 'plain JSON');
  }
  const { maxOutputTokens, temperature, toolChoice } = settings ?? {};
  if (maxOutputTokens !== undefined && !isWhole(maxOutputTokens, 1, Number.MAX_SAFE_INTEGER))
    throw bad('settings.maxOutputTokens', 'a whole number above 0');
  if (temperature !== undefined && !(typeof temperature === 'number' && temperature >= 0))
    throw bad('settings.temperature', 'a number from 0');
  if (toolChoice !== undefined && !['auto', 'none', 'required'].includes(toolChoice))
    throw bad('settings.toolChoice', "'auto', 'none' or 'required'");
}

/** The fields that are set, of an object that has no others: a slip of the pen would else be no limit at all. */
function fieldsOf(
  place: string,
  value: object | undefined,
  known: readonly string[],
): readonly (readonly [string, unknown])[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null) throw bad(place, 'an object');
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  for (const [field] of fields)
    if (!known.includes(field)) throw bad(`${place}.${field}`, `one of ${known.join(', ')}: there is no such option`);
  return fields;
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function bad(place: string, must: string): OnwardError {
  return new OnwardError('agent/bad-option', `${place} must be ${must}.`, { place });
}
