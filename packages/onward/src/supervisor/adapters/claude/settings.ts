import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { asShape, type Shape, shapeAt } from './shape.ts';

/** What the user gave as `--settings`. */
export type SettingsArgument =
  | { readonly kind: 'none' }
  /** Inline JSON as given, or the absolute path of a file. */
  | { readonly kind: 'given'; readonly value: string }
  | { readonly kind: 'unusable'; readonly sentence: string; readonly next: readonly string[] };

/**
 * The last `--settings` of a command: only that one counts for the CLI. A path is made absolute, since a later attempt may
 * start elsewhere; the contents stay out of the record, for settings may hold keys.
 */
export function settingsArgument(
  flags: readonly { readonly name: string; readonly values: readonly string[] }[],
): SettingsArgument {
  const value = flags.findLast((flag) => flag.name === '--settings')?.values[0];
  if (value === undefined) return { kind: 'none' };
  const given = isInline(value) ? value : resolve(value);
  if (readSettings(given) !== undefined) return { kind: 'given', value: given };
  return {
    kind: 'unusable',
    sentence: `The settings cannot be read as a JSON object: ${isInline(value) ? 'the text given' : given}`,
    next: ['Correct the file or the text, or leave --settings out'],
  };
}

function isInline(value: string): boolean {
  return value.trimStart().startsWith('{');
}

function readSettings(given: string): Shape | undefined {
  try {
    return asShape(JSON.parse(isInline(given) ? given : readFileSync(given, 'utf8')));
  } catch {
    return undefined;
  }
}

/**
 * The one `--settings` of an attempt: the user's, and in its `env` the CLI's own number of retries. Settings win over the
 * environment and a later `--settings` over an earlier one (measured with 2.1.197), so nothing else would be sure to count.
 * Settings that have become unreadable are passed on as they are: the CLI then says so itself.
 */
export function mergedSettings(given: string | undefined, innerRetries: number): string {
  const user = given === undefined ? {} : readSettings(given);
  if (user === undefined) return given ?? '{}';
  const env = {
    ...shapeAt(user, 'env'),
    CLAUDE_CODE_MAX_RETRIES: String(innerRetries),
    CLAUDE_CODE_RETRY_WATCHDOG: '0',
  };
  return JSON.stringify({ ...user, env });
}
