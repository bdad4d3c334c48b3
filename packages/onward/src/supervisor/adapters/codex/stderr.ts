import type { Failure } from '../../../kernel/failure.ts';
import { shorten } from './json-shape.ts';

interface StderrRule {
  readonly pattern: RegExp;
  readonly type: string;
}

/** Fatal lines with which codex 0.171 ends before its first event; anchored at the start of the line, most telling first. */
const rules: readonly StderrRule[] = [
  { pattern: /^Error: thread\/resume: .*\bno rollout found for thread id /, type: 'session_not_found' },
  { pattern: /^Error: thread\/resume: .*\balready has an active writer\b/, type: 'active_writer' },
  {
    pattern: /^error: (?:unexpected argument|invalid value|the argument|a value is required)\b/,
    type: 'invalid_input',
  },
  { pattern: /^Error (?:loading config|parsing -c overrides)/, type: 'invalid_input' },
  { pattern: /^Error: (?:Unknown feature flag|No such file or directory)\b/, type: 'invalid_input' },
  { pattern: /^Error: .{1,80} is no longer supported\b/, type: 'invalid_input' },
  { pattern: /^Failed to read output schema file\b/, type: 'invalid_input' },
  { pattern: /^Not inside a trusted directory\b/, type: 'invalid_input' },
  { pattern: /^No prompt provided\b/, type: 'invalid_input' },
];

/** The first fatal line of standard error that the table knows. */
export function readStderr(stderr: string): Failure | undefined {
  const lines = stderr.split('\n').map((line) => line.trimEnd());
  for (const rule of rules) {
    const line = lines.find((candidate) => rule.pattern.test(candidate));
    if (line !== undefined) return { type: rule.type, message: shorten(line.toWellFormed(), 460) };
  }
  return undefined;
}
