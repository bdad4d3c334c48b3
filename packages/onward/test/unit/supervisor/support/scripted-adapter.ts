import type {
  AgentAdapter,
  AttemptReader,
  Ending,
  LaunchInput,
  Observation,
  ProcessEnding,
} from '../../../../src/supervisor/index.ts';
import type { ScriptedMachine } from './scripted-machine.ts';

/** The last word of a scripted agent. */
export type ScriptedEnd = Ending;

/** One line of a scripted agent's output. */
export interface ScriptedLine {
  readonly observations?: readonly Observation[];
  readonly end?: ScriptedEnd;
  /** The reader throws this: an adapter with a defect. */
  readonly throws?: string;
}

/** What a scripted adapter can do; all of it is on unless said otherwise. */
export interface AdapterTraits {
  readonly preassignsId?: boolean;
  /** It can tell from the session file which calls the conversation has. */
  readonly keeps?: boolean;
  /** It asks before it acts. */
  readonly gates?: boolean;
}

/** An adapter whose agents do what a test says. Its command is `agent PROMPT [options]`. */
export function scriptedAdapter(machine: ScriptedMachine, traits: AdapterTraits = {}): AgentAdapter {
  const { preassignsId = true, keeps = true, gates = true } = traits;
  return {
    name: 'scripted',
    title: 'Scripted',
    programs: ['agent'],
    preassignsId,
    parse: ({ argv, stdin }) => ({
      ok: true,
      prompt: [argv[1] ?? '', ...(stdin === undefined ? [] : [stdin])].join('\n'),
      options: argv.slice(2),
      permissions: 'default',
    }),
    commandFor: (prompt) => ['agent', prompt],
    launch: (input) => {
      machine.launches.push(input);
      return {
        argv: argvOf(input),
        env: {},
        input: { lines: [input.prompt], keepOpen: true },
        ladder: [{ kind: 'signal', signal: 'SIGTERM', target: 'group', ms: 5_000 }],
        added: [],
      };
    },
    reader: () => scriptedReader(machine, gates),
    identify: async () => {
      if (machine.identifyFails) throw new Error('the credential file is unreadable');
      return { baseUrl: 'http://model.invalid', account: machine.account, billing: 'API key' };
    },
    sessionFile: async (_place, id) => (machine.sessions.has(id) ? `session:${id}` : undefined),
    ...(keeps ? { keeps: (session: string, callId: string) => session.includes(callId) } : {}),
    byHand: (program, id) => `${program} --resume ${id}`,
  };
}

function argvOf(input: LaunchInput): readonly string[] {
  const session = input.sessionId === undefined ? [] : [`--${input.mode}`, input.sessionId];
  return [input.program, ...input.command.options, ...session];
}

function scriptedReader(machine: ScriptedMachine, gates: boolean): AttemptReader {
  let end: ScriptedEnd | undefined;
  let target: string | undefined;
  return {
    line: (text) => {
      const line = JSON.parse(text) as ScriptedLine;
      if (line.throws !== undefined) throw new Error(line.throws);
      end = line.end ?? end;
      for (const observation of line.observations ?? []) if (observation.kind === 'session') target = observation.id;
      return line.observations ?? [];
    },
    ending: (process) => {
      machine.endings.push(process);
      if (machine.endingFails) throw new Error('the adapter cannot read this ending');
      return endingFor(end, process);
    },
    target: () => target,
    ...(gates ? { refuse: (callId: string, reason: string) => `refused ${callId}: ${reason}` } : {}),
  };
}

/** A coherent last word wins over how the process went, as the contract of adapters says. */
function endingFor(end: ScriptedEnd | undefined, process: ProcessEnding): Ending {
  if (end !== undefined) return end;
  if (process.failure !== undefined) return { ok: false, failure: process.failure };
  return {
    ok: false,
    failure: {
      message: 'The agent ended without a result.',
      process: 'ended-without-result',
      ...(process.exit === undefined ? {} : { exit: process.exit }),
    },
  };
}
