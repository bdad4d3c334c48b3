import type { Json } from '../kernel/json.ts';
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
  return { retry, timeouts, ...(flags.onDenied === undefined ? {} : { onDenied: flags.onDenied }) };
}

function time(key: string, text: string | undefined, flag: string): Readonly<Record<string, number>> {
  return text === undefined ? {} : { [key]: parseDuration(text, flag) };
}
