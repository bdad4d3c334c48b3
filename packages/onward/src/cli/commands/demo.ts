import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { OnwardError } from '../../kernel/error.ts';
import type { Json } from '../../kernel/json.ts';
import { resolvePolicy } from '../../kernel/policy.ts';
import {
  type RunStreamEvent,
  type Supervision,
  attachRun,
  createDeps,
  openSqliteJournal,
} from '../../library/index.ts';
import { claudeEnvironment, installFakeCli, type Play, startModelServer } from '../../lab/index.ts';
import { systemClock, systemRandom } from '../../processes/index.ts';
import { acceptRun } from '../../supervisor/index.ts';
import type { Io } from '../io.ts';
import { watchRun } from '../watch-run.ts';

/** The effect of the demo's task: it must be there once, whatever happens. The command then lasts, so that it can be cut. */
const effect = 'released';
const releaseCommand = `echo ${effect} >> effects.log && sleep 30 && echo EFFECT_OK_RELEASE`;

/** How an agent of the demo is set up in a folder of its own. */
interface Stage extends AsyncDisposable {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly who: string;
}

/** `onward demo`: an overload and a kill -9 inside a tool, survived on screen, without key, account or network. */
export async function demo(io: Io, flags: { readonly agent?: string; readonly json?: boolean }): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-demo-'));
  const work = join(folder, 'work');
  mkdirSync(work);
  await using stage = await setStage(flags.agent, folder, io);
  const log = join(work, 'effects.log');
  io.err(
    `${io.color('bold', 'onward demo')}: ${stage.who} is to release something once. It will meet an overloaded provider, and then be killed`,
  );
  io.err(
    `with kill -9 in the middle of the release. Watch it being brought to its end. (no key, no network; all in ${folder})`,
  );
  const journal = await openSqliteJournal({
    path: join(folder, 'journal.db'),
    clock: systemClock,
    random: systemRandom,
  });
  try {
    const deps = { ...createDeps({ journal, stateDir: join(folder, 'state'), env: stage.env }) };
    const policy = resolvePolicy(
      [{ source: 'flag', values: { retry: { scheduleMs: [4_000, 4_000, 4_000] } } }],
      deps.hash,
    );
    const id = await acceptRun(deps, { command: stage.command, cwd: work, policy, name: 'demo' });
    const run = killInTool(attachRun(deps, id), log, io);
    const status = await watchRun(io, run, { json: flags.json === true, verbosity: 'verbose' });
    return verdict(io, status, log, join(folder, 'journal.db'));
  } finally {
    await journal.close();
  }
}

async function setStage(agent: string | undefined, folder: string, io: Io): Promise<Stage> {
  const home = join(folder, 'home');
  const bin = join(folder, 'bin');
  mkdirSync(home);
  const base = { PATH: `${bin}${delimiter}${io.env['PATH'] ?? ''}`, HOME: home };
  const command = ['claude', '-p', 'Release it exactly once, with the shell.', '--allowedTools', 'Bash'];
  if (agent === undefined) {
    installFakeCli({ dir: bin, name: 'claude', play });
    return { command, env: base, who: 'A stand-in for Claude Code', [Symbol.asyncDispose]: async () => undefined };
  }
  if (agent !== 'claude') {
    throw new OnwardError('cli/no-such-demo', `The demo has no scene for ${agent}.`, {
      place: '--agent',
      next: ['onward demo', 'onward demo --agent claude'],
    });
  }
  const step = {
    id: 'release',
    command: releaseCommand,
    evidence: 'EFFECT_OK_RELEASE',
    inspect: { command: 'cat effects.log', shows: effect },
  };
  const fault = { kind: 'error', error: 'overloaded' } as const;
  // Four: the agent itself repeats a request three times before Onward hears of it.
  const server = await startModelServer({
    script: { task: { steps: [step] }, temperament: 'checker', faults: [{ from: 1, to: 4, fault }] },
  });
  return {
    command,
    env: { ...base, ...claudeEnvironment(server.url) },
    who: 'Your Claude Code, against a scripted model,',
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What the stand-in does, process by process: the last one is told that an outcome is unknown, looks, and does not repeat. */
const play: Play = {
  attempts: [
    {
      steps: [
        { do: 'request' },
        { do: 'retry', attempt: 1, of: 3, with: 'overloaded' },
        { do: 'fail', with: 'overloaded' },
      ],
    },
    {
      steps: [
        { do: 'request' },
        { do: 'text', text: 'I release it now.' },
        { do: 'tool', command: releaseCommand },
        { do: 'hang' },
      ],
    },
    {
      steps: [
        { do: 'request' },
        { do: 'text', text: 'I am told that the outcome of the release is unknown, so I look first.' },
        { do: 'tool', command: 'cat effects.log' },
        { do: 'request' },
        {
          do: 'when',
          if: { file: 'effects.log', holds: effect },
          yes: [],
          no: [{ do: 'tool', command: releaseCommand }],
        },
        { do: 'answer', text: 'It is released, once: the line was there already, so I did not do it again.' },
      ],
    },
  ],
};

/** Kills the agent, from outside and without warning, once the effect of its tool is there and the tool still runs. */
function killInTool(run: Supervision, log: string, io: Io): Supervision {
  let pid = 0;
  let killed = false;
  const look = async (event: RunStreamEvent): Promise<void> => {
    const data = event.data as { readonly [key: string]: Json };
    if (event.type === 'attempt.spawned' && typeof data['pid'] === 'number') pid = data['pid'];
    if (event.type !== 'call.started' || killed) return;
    killed = true;
    for (let tries = 0; tries < 200 && !existsSync(log); tries++) {
      // oxlint-disable-next-line no-await-in-loop -- until the effect is there
      await systemClock.sleep(25);
    }
    io.err(io.color('red', `         kill -9 ${pid}: the agent dies inside its tool`));
    process.kill(pid, 'SIGKILL');
  };
  return {
    ...run,
    async *[Symbol.asyncIterator]() {
      for await (const event of run) {
        yield event;
        await look(event);
      }
    },
  };
}

function verdict(io: Io, status: number, log: string, journal: string): number {
  const effects = existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line === effect).length
    : 0;
  writeFileSync(`${log}.count`, `${effects}\n`);
  if (status !== 0 || effects !== 1) {
    io.err(`onward demo: this did not go well: exit ${status}, ${effects} effects. The journal is ${journal}`);
    return status === 0 ? 1 : status;
  }
  io.err('');
  io.err(
    `${io.color('green', '2 failures, 2 recoveries, 1 effect, 0 effects repeated')} (counted in ${log}, not by onward)`,
  );
  io.err(`  why it did what it did:   onward why demo --journal ${journal}`);
  io.err('  in front of your own:     onward run -- claude -p "Fix the failing tests" --permission-mode acceptEdits');
  return 0;
}
