import { OnwardError } from '../kernel/error.ts';
import { createRedactor, redacted } from '../kernel/redact.ts';
import type { PolicySnapshot } from '../kernel/policy.ts';
import type { AgentAdapter, ParsedCommand } from './adapter.ts';
import { placeOf, type SupervisorDeps } from './deps.ts';
import { type RunAccepted, runEvent } from './run-events.ts';
import { runStream } from './run-writer.ts';

/** What somebody asks to be supervised. */
export interface RunRequest {
  /** The user's own command: program and arguments. */
  readonly command: readonly string[];
  /** Which adapter, for wrappers whose name says nothing. */
  readonly agent?: string;
  readonly cwd: string;
  /** Text piped in, part of the prompt as it would be for the bare agent. */
  readonly stdin?: string;
  readonly policy: PolicySnapshot;
  readonly name?: string;
  readonly continuation?: string;
}

/** A command that is understood, before anything is recorded. */
export interface ReadCommand {
  readonly adapter: AgentAdapter;
  readonly parsed: ParsedCommand;
}

/** Recognises the agent and reads its command. Throws `run/...` for what cannot be supervised, with the argument at fault. */
export function readCommand(
  adapters: readonly AgentAdapter[],
  request: Pick<RunRequest, 'command' | 'agent' | 'stdin'>,
): ReadCommand {
  const program = request.command[0] ?? '';
  if (program === '')
    throw new OnwardError('run/no-command', 'There is no command to run.', { next: ['onward run -- claude -p "..."'] });
  const base = program.split('/').at(-1) ?? program;
  const adapter = adapters.find((candidate) =>
    request.agent === undefined ? candidate.programs.includes(base) : candidate.name === request.agent,
  );
  if (adapter === undefined) {
    const known = adapters.map((candidate) => candidate.name).join(', ');
    throw new OnwardError(
      'run/unknown-agent',
      `${request.agent ?? base} is not an agent that onward knows. It knows: ${known}.`,
      {
        place: request.agent === undefined ? program : '--agent',
        next:
          request.agent === undefined
            ? [`If ${base} starts one of them, say which: onward run --agent NAME -- ${base} ...`]
            : adapters.map(({ name }) => `onward run --agent ${name} "PROMPT"`),
      },
    );
  }
  const result = adapter.parse({
    argv: request.command,
    ...(request.stdin === undefined ? {} : { stdin: request.stdin }),
  });
  if (!result.ok)
    throw new OnwardError('run/command-refused', result.sentence, { place: result.argument, next: result.next });
  const { ok: _ok, ...parsed } = result;
  return { adapter, parsed };
}

/** Records the run with everything it depends on; durable when it resolves. Gives the run's id. */
export async function acceptRun(deps: SupervisorDeps, request: RunRequest): Promise<string> {
  const { adapter, parsed } = readCommand(deps.adapters, request);
  const program = request.command[0] ?? '';
  const found = await deps.host.inspect(program, request.cwd);
  if (!found.ok) throw new OnwardError('run/cannot-start', found.sentence, { place: program, next: found.next });
  // The random end of a UUID v7, not its time: four characters are to tell the runs of one day apart.
  const id = deps.ids.uuid().replaceAll('-', '').slice(-12);
  const { prompt, ...command } = parsed;
  const redactor = createRedactor(deps.env);
  const accepted: RunAccepted = {
    agent: adapter.name,
    program,
    binary: found.binary,
    version: found.version,
    command: { ...command, options: redactor.json(command.options) as readonly string[] },
    prompt: await bodyOf(deps, runStream(id), prompt.toWellFormed()),
    cwd: request.cwd,
    identity: await adapter.identify(placeOf(deps, request.cwd)),
    variables: Object.keys(deps.env).toSorted(),
    host: deps.host.holder.host,
    policy: request.policy,
    ...(request.name === undefined ? {} : { name: request.name }),
    ...(request.continuation === undefined ? {} : { continuation: request.continuation }),
  };
  const stream = runStream(id);
  const appended = await deps.journal.append([
    { stream, expected: 0, events: [runEvent('run.accepted', accepted)], due: deps.clock.now() },
  ]);
  if (!appended.ok) throw new OnwardError('run/not-accepted', `The journal refused the run: ${appended.refusal.kind}.`);
  return id;
}

/** True when the recorded command had a credential in it, which is not on record: only the process that was given it can use it. */
export function lacksCredential(accepted: RunAccepted): boolean {
  return accepted.command.options.some((option) => option.includes(redacted));
}

async function bodyOf(deps: SupervisorDeps, stream: string, text: string): Promise<RunAccepted['prompt']> {
  return text.length <= 32_768
    ? { text }
    : { blob: await deps.journal.putBlob(stream, new TextEncoder().encode(text)) };
}
