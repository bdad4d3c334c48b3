import type { Json } from '../kernel/json.ts';
import { OnwardError } from '../kernel/error.ts';
import { parseCount, parseDuration, parseSchedule } from './duration.ts';

/** The flags of `run` as commander gives them. */
export interface RunFlags {
  readonly agent?: string;
  readonly schedule?: string;
  readonly maxAttempts?: string;
  readonly startupTimeout?: string;
  readonly idleTimeout?: string;
  readonly toolTimeout?: string;
  readonly maxTime?: string;
  readonly onDenied?: string;
  readonly name?: string;
  readonly continuation?: string;
  readonly journal?: string;
  readonly preview?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** The part of a policy that the flags set; what is not given is not in it. Throws `cli/...` naming the flag. */
export function policyFromFlags(flags: RunFlags): Json {
  const retry = {
    ...(flags.schedule === undefined ? {} : { scheduleMs: parseSchedule(flags.schedule, '--schedule') }),
    ...(flags.maxAttempts === undefined ? {} : { total: parseCount(flags.maxAttempts, '--max-attempts', 1) }),
  };
  const timeouts = {
    ...time('startupMs', flags.startupTimeout, '--startup-timeout'),
    ...time('idleMs', flags.idleTimeout, '--idle-timeout'),
    ...time('toolMs', flags.toolTimeout, '--tool-timeout'),
    ...time('wallMs', flags.maxTime, '--max-time'),
  };
  return { retry, timeouts, ...(flags.onDenied === undefined ? {} : { onDenied: onDenied(flags.onDenied) }) };
}

function onDenied(text: string): 'stop' | 'ignore' {
  if (text === 'stop' || text === 'ignore') return text;
  throw new OnwardError('cli/bad-choice', `--on-denied must be stop or ignore; it is ${JSON.stringify(text)}.`, {
    place: '--on-denied',
    next: ['stop: refused tool calls need a human. ignore: the answer is taken as it is.'],
  });
}

/** A name to find a run by: something that can be typed and printed. Throws `cli/bad-name`. */
export function checkName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are refused
  if (/^[^\s\u0000-\u001F\u007F-\u009F-][^\u0000-\u001F\u007F-\u009F]{0,99}$/.test(name)) return name;
  throw new OnwardError(
    'cli/bad-name',
    `--name must be 1 to 100 printable characters; it is ${JSON.stringify(name)}.`,
    {
      place: '--name',
      next: ['For instance: --name nightly'],
    },
  );
}

function time(key: string, text: string | undefined, flag: string): Readonly<Record<string, number>> {
  return text === undefined ? {} : { [key]: parseDuration(text, flag) };
}
