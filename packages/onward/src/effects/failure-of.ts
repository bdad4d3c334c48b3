import type { Failure } from '../kernel/failure.ts';
import { createRedactor, type Redactor } from '../kernel/redact.ts';

const LONGEST_MESSAGE = 500;
const LONGEST_CODE = 100;
const DEEPEST = 4;

/** What services say may quote what was sent to them: it is stored without what looks like a secret. */
const redactor: Redactor = createRedactor({});

/** The facts of whatever was thrown, as plain JSON and bounded. Never throws, whatever the object does when it is read. */
export function failureOf(error: unknown, depth = 0): Failure {
  const message = textOf(error, 'message') ?? (typeof error === 'string' ? error : typeof error);
  const code = textOf(error, 'code')?.slice(0, LONGEST_CODE);
  const type = (textOf(error, 'type') ?? textOf(error, 'name'))?.slice(0, LONGEST_CODE);
  const status = read(error, 'status');
  const cause = depth < DEEPEST ? read(error, 'cause') : undefined;
  return {
    message: redactor.text(message.toWellFormed()).slice(0, LONGEST_MESSAGE).toWellFormed(),
    ...(type === undefined ? {} : { type: type.toWellFormed() }),
    ...(code === undefined ? {} : { code: code.toWellFormed() }),
    ...(typeof status === 'number' && Number.isInteger(status) && status > 0 ? { status } : {}),
    ...(cause === undefined || cause === null ? {} : { cause: failureOf(cause, depth + 1) }),
  };
}

function textOf(value: unknown, field: string): string | undefined {
  const found = read(value, field);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

function read(value: unknown, field: string): unknown {
  try {
    return typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
  } catch {
    return undefined;
  }
}
