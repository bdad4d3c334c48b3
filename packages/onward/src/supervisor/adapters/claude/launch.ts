import type { Launch, LaunchInput, StopStep } from '../../adapter.ts';
import { initializeLine, interruptLine, userLine } from './protocol.ts';
import { retryBound } from './settings.ts';

/** Gentlest first. Only the interrupt keeps a call that finished while its message was still being streamed. */
const ladder: readonly StopStep[] = [
  { kind: 'input', line: interruptLine(), until: 'result', ms: 5_000 },
  { kind: 'end-input', ms: 5_000 },
  { kind: 'signal', signal: 'SIGTERM', target: 'group', ms: 5_000 },
];

const streamFlags: readonly string[] = [
  '--input-format=stream-json',
  '--output-format=stream-json',
  '--verbose',
  '--include-partial-messages',
];

/** How to start one attempt: the user's options, then ours, of which the last ones win. */
export function launch(input: LaunchInput): Launch {
  const { options, settings } = takeSettings(input.command.options);
  const session = sessionFlags(input);
  const bound = retryBound(settings, input.innerRetries);
  const where = bound.env['CLAUDE_CODE_MAX_RETRIES'] === undefined ? 'env of --settings' : 'the environment';
  return {
    argv: [input.program, ...options, '-p', ...streamFlags, ...session, '--settings', bound.settings],
    env: bound.env,
    input: { lines: [initializeLine(), userLine(input.prompt)], keepOpen: true },
    ladder,
    added: [
      '--input-format stream-json --output-format stream-json --verbose: the event stream, which Onward reads',
      '--include-partial-messages: shows whether a message ended, and that a long one is alive',
      ...(session.length === 0 ? [] : [sessionReason(input)]),
      `CLAUDE_CODE_MAX_RETRIES=${input.innerRetries}, CLAUDE_CODE_RETRY_WATCHDOG=0 in ${where}: few retries inside, long waits outside`,
      'standard input: the prompt, and hooks that record each tool call before it runs; they allow nothing, and refuse only the repeat of a call that had finished and was lost',
    ],
  };
}

function sessionFlags(input: LaunchInput): readonly string[] {
  if (input.sessionId === undefined) return [];
  return [input.mode === 'create' ? '--session-id' : '--resume', input.sessionId];
}

function sessionReason(input: LaunchInput): string {
  return input.mode === 'create'
    ? '--session-id: a session id that is known before the first word'
    : '--resume: continues that session';
}

/** Parsing left at most one `--settings`, as the last option. */
function takeSettings(options: readonly string[]): { readonly options: readonly string[]; readonly settings?: string } {
  const settings = options.at(-1);
  if (options.at(-2) !== '--settings' || settings === undefined) return { options };
  return { options: options.slice(0, -2), settings };
}
