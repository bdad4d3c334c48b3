import type { AgentAdapter, Launch, ParsedCommand } from './adapter.ts';
import { defaultContinuation } from './continuation.ts';
import type { RunRequest } from './accept-run.ts';

/** One command line as it would be started. */
export interface LaunchPreview {
  /** Quoted for a shell, so that it can be tried by hand. */
  readonly command: string;
  readonly input: readonly string[];
  readonly variables: readonly string[];
}

/** What a run would start, without starting it. `SESSION` stands for the id of the conversation. */
export interface RunPreview {
  readonly first: LaunchPreview;
  readonly later: LaunchPreview;
  /** Everything that is not in the user's command, and why it is added. */
  readonly added: readonly string[];
}

/** Says exactly what attempt 1 and a continuation would be. Pure. */
export function launchPreview(
  adapter: AgentAdapter,
  request: RunRequest,
  parsed: ParsedCommand,
  env: Readonly<Record<string, string>>,
): RunPreview {
  const base = {
    program: request.command[0] ?? '',
    command: parsed,
    innerRetries: request.policy.policy.retry.inner,
    env,
  };
  const first = adapter.launch({
    ...base,
    mode: 'create',
    prompt: parsed.prompt,
    ...(adapter.preassignsId ? { sessionId: 'SESSION' } : {}),
  });
  const later = adapter.launch({
    ...base,
    mode: 'resume',
    sessionId: 'SESSION',
    prompt: request.continuation ?? defaultContinuation,
  });
  const marker = 'ONWARD_ATTEMPT=ID in its environment: finds every process of the attempt';
  return { first: show(first), later: show(later), added: [...new Set([...first.added, ...later.added, marker])] };
}

function show(launch: Launch): LaunchPreview {
  return {
    command: launch.argv.map(quote).join(' '),
    input: launch.input.lines,
    variables: Object.entries(launch.env).map(([name, value]) => `${name}=${value}`),
  };
}

/** Quotes a word for a POSIX shell, if it needs that. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
