import { readFileSync } from 'node:fs';
import { claudeFailures } from './failures.ts';
import type { Play } from './play.ts';
import { PlayError } from './play-error.ts';

type Check = (value: unknown, place: string) => void;
interface Fields {
  readonly [name: string]: Check;
}

const fail = (place: string, sentence: string): never => {
  throw new PlayError('play/invalid', place, sentence);
};
const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 60);

const text: Check = (value, place) => {
  if (typeof value !== 'string') fail(place, `must be a text, not ${shown(value)}.`);
};
const filled: Check = (value, place) => {
  if (typeof value !== 'string' || value === '') fail(place, `must be a text that is not empty, not ${shown(value)}.`);
};
const flag: Check = (value, place) => {
  if (typeof value !== 'boolean') fail(place, `must be true or false, not ${shown(value)}.`);
};
const record: Check = (value, place) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(place, 'must be an object.');
};
const whole =
  (from: number, to: number): Check =>
  (value, place) => {
    if (!Number.isInteger(value) || (value as number) < from || (value as number) > to) {
      fail(place, `must be a whole number from ${from} to ${to}, not ${shown(value)}.`);
    }
  };
const oneOf =
  (...words: readonly string[]): Check =>
  (value, place) => {
    if (!words.includes(value as string)) fail(place, `must be one of ${words.join(', ')}, not ${shown(value)}.`);
  };
const list =
  (item: Check): Check =>
  (value, place) => {
    if (!Array.isArray(value)) fail(place, `must be a list, not ${shown(value)}.`);
    for (const [index, entry] of (value as unknown[]).entries()) item(entry, `${place}[${index}]`);
  };

/** Fields marked with `?` may be absent; a field that is not named is refused, since it is most likely a slip. */
const object =
  (fields: Fields): Check =>
  (value, place) => {
    record(value, place);
    const given = value as { readonly [name: string]: unknown };
    for (const [key, check] of Object.entries(fields)) {
      const name = key.replace('?', '');
      if (given[name] !== undefined) check(given[name], join(place, name));
      else if (!key.endsWith('?')) fail(join(place, name), 'is missing.');
    }
    const known = Object.keys(fields).map((key) => key.replace('?', ''));
    for (const name of Object.keys(given)) {
      if (!known.includes(name)) fail(join(place, name), `is not known here. Known: ${known.join(', ')}.`);
    }
  };
const join = (place: string, name: string): string => (place === '' ? name : `${place}.${name}`);

const failure = oneOf(...Object.keys(claudeFailures));
const signal = oneOf('SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL', 'SIGSEGV', 'SIGSTOP');
const steps: Check = (value, place) => list(step)(value, place);
const exitCode = whole(0, 255);

const condition: Check = (value, place) => {
  record(value, place);
  const given = value as { readonly [name: string]: unknown };
  if ('seen' in given) object({ seen: filled })(value, place);
  else if ('prompt' in given) object({ prompt: filled })(value, place);
  else object({ file: filled, 'holds?': filled })(value, place);
};
const waitFor: Check = (value, place) => {
  if (typeof value === 'string') oneOf('stdin-eof', 'interrupt', 'next-prompt')(value, place);
  else object({ file: filled })(value, place);
};

const stepFields: { readonly [kind: string]: Fields } = {
  prompt: {},
  opening: {},
  request: {},
  text: { text },
  delta: { text },
  'end-message': {},
  tool: {
    command: filled,
    'name?': filled,
    'id?': filled,
    'window?': oneOf('ended', 'open'),
    'during?': steps,
    'unlessSeen?': filled,
  },
  denied: { command: filled, 'name?': filled },
  retry: { attempt: whole(1, 1000), of: whole(1, 1000), with: failure, 'delayMs?': whole(0, 1e9) },
  'error-line': { with: failure },
  fail: { with: failure, 'resetsAt?': whole(0, 1e11), 'exit?': exitCode },
  answer: { text },
  result: { 'fields?': record, 'exit?': exitCode },
  lines: { lines: list(text) },
  transcript: { file: filled, 'session?': oneOf('verbatim', 'rewrite') },
  stderr: { text },
  garbage: {
    kind: oneOf('not-json', 'bad-utf8', 'huge-line', 'wrong-shape', 'half-line', 'nul-bytes', 'blank-lines'),
    'bytes?': whole(1, 1e9),
  },
  wait: { for: waitFor },
  hang: { 'ignore?': list(signal) },
  'ignore-signals': { signals: list(signal) },
  exit: { code: exitCode },
  kill: { signal, 'group?': flag },
  grandchild: { 'command?': filled, 'ownSession?': flag, 'holdStdout?': flag, 'pidFile?': filled },
  run: { command: filled },
  'damage-session': { how: oneOf('delete', 'truncate', 'tear', 'garble') },
  when: { if: condition, yes: steps, 'no?': steps },
  repeat: { times: whole(0, 10_000_000), steps },
};

const step: Check = (value, place) => {
  record(value, place);
  const kind = (value as { readonly do?: unknown }).do;
  const fields = typeof kind === 'string' && Object.hasOwn(stepFields, kind) ? stepFields[kind] : undefined;
  if (fields === undefined) {
    fail(`${place}.do`, `must be one of ${Object.keys(stepFields).join(', ')}, not ${shown(kind)}.`);
  }
  object({ do: text, ...fields })(value, place);
};

const attempt = object({
  steps,
  'opening?': oneOf('auto', 'none'),
  'refuse?': oneOf('unknown-session', 'session-in-use', 'writer-lock', 'not-logged-in'),
  'interrupt?': oneOf('as-real', 'ignore'),
  'swapSession?': flag,
});
const play = object({
  attempts: list(attempt),
  'after?': oneOf('repeat-last', 'refuse'),
  'permissions?': oneOf('open', 'as-flags'),
  'recordEnv?': list(filled),
});

/**
 * The play, if `value` is one.
 *
 * @throws PlayError `play/invalid` with the place of the first fault, such as `attempts[0].steps[2].text`.
 */
export function parsePlay(value: unknown): Play {
  play(value, '');
  const parsed = value as Play;
  if (parsed.attempts.length === 0) fail('attempts', 'must hold at least one attempt.');
  return parsed;
}

/**
 * Reads a play from a JSON file.
 *
 * @throws PlayError `play/missing` when the file cannot be read, `play/not-json`, `play/invalid`.
 */
export function readPlay(file: string): Play {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new PlayError('play/missing', file, 'cannot be read.', cause);
  }
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (cause) {
    throw new PlayError('play/not-json', file, 'is not JSON.', cause);
  }
  return parsePlay(value);
}
