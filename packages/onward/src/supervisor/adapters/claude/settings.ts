import { asShape, type Shape, shapeAt } from './shape.ts';

/** What the user gave as `--settings`. */
export type SettingsArgument =
  | { readonly kind: 'none' }
  /** Inline JSON or a path, as given. */
  | { readonly kind: 'given'; readonly value: string }
  | { readonly kind: 'unusable'; readonly sentence: string; readonly next: readonly string[] };

/** How an attempt keeps the CLI's own retries few. */
export interface RetryBound {
  /** Value of the one `--settings` of the attempt. */
  readonly settings: string;
  /** Variables that have to do it instead. */
  readonly env: Readonly<Record<string, string>>;
}

/** The last `--settings` of a command: only that one counts for the CLI. */
export function settingsArgument(
  flags: readonly { readonly name: string; readonly values: readonly string[] }[],
): SettingsArgument {
  const value = flags.findLast((flag) => flag.name === '--settings')?.values[0];
  if (value === undefined) return { kind: 'none' };
  if (!isInline(value) || readInline(value) !== undefined) return { kind: 'given', value };
  return {
    kind: 'unusable',
    sentence: 'The text given as settings is no JSON object.',
    next: ['Correct the text, or give the path of a file'],
  };
}

/**
 * Bounds the CLI's own retries by `env` in `--settings`: settings win over the environment, and of several `--settings`
 * only the last counts (measured with 2.1.197), so it is merged with one that the user gave inline. A file of the
 * user's is passed on as it is, since it may hold keys and arguments can be read by anybody: then the environment has to
 * do, and a settings file that sets the number itself wins. The retries are counted either way.
 */
export function retryBound(given: string | undefined, innerRetries: number): RetryBound {
  const bound = { CLAUDE_CODE_MAX_RETRIES: String(innerRetries), CLAUDE_CODE_RETRY_WATCHDOG: '0' };
  if (given !== undefined && !isInline(given)) return { settings: given, env: bound };
  const user = given === undefined ? {} : (readInline(given) ?? {});
  return { settings: JSON.stringify({ ...user, env: { ...shapeAt(user, 'env'), ...bound } }), env: {} };
}

function isInline(value: string): boolean {
  return value.trimStart().startsWith('{');
}

function readInline(value: string): Shape | undefined {
  try {
    return asShape(JSON.parse(value));
  } catch {
    return undefined;
  }
}
