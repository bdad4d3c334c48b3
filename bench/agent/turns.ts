import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPeers } from '../faults/install.ts';
import { peers, versionsOf } from '../faults/peers.ts';
import { type Row, sideBySide } from '../report.ts';
import type { Figures, Orders } from './run-subject.ts';

const runs = [
  { turns: 10, times: 60 },
  { turns: 100, times: 10 },
  { turns: 1000, times: 2 },
] as const;

/** A turn of a conversation with calls, in memory: Onward and a bare loop over the same model, at three lengths. */
export async function benchTurns(rounds: number): Promise<readonly Row[]> {
  const provider = await pairs(rounds, { model: 'provider', shape: 'calls' });
  const parts = await pairs(rounds, { model: 'parts', shape: 'calls' });
  const prompts = await pairs(rounds, { model: 'provider', shape: 'prompts' });
  return [
    ...rowsOf(provider, 'call and answer over the AI SDK client', '<= 1.5'),
    ...rowsOf(prompts, 'prompt and answer over the AI SDK client', '<= 1.5'),
    ...rowsOf(parts, 'call and answer, the model costs nothing', ''),
    {
      what: 'memory of the process (RSS) after those conversations over the AI SDK client',
      unit: 'MB',
      aim: '',
      ours: provider.map(({ ours }) => ours.at(-1)?.rssMb ?? Number.NaN),
      bare: provider.map(({ bare }) => bare.at(-1)?.rssMb ?? Number.NaN),
    },
  ];
}

/** The same with the session in SQLite, each request durable before it is sent; appends counted, bytes measured. */
export async function benchStore(rounds: number): Promise<readonly Row[]> {
  const common = { model: 'provider', shape: 'calls', warmUp: 5 } as const;
  const stored: Figures[][] = [];
  const bare: Figures[][] = [];
  const measure = (subject: string): Figures[] => inFolder((store) => run({ ...common, subject, store, runs }));
  await sideBySide(
    rounds,
    () => stored.push(measure('onward')),
    () => bare.push(measure('bare')),
  );
  const untracked = inFolder((store) =>
    run({ ...common, subject: 'onward', effect: 'untracked', store, runs: [{ turns: 1000, times: 1 }] }),
  );
  const row = (what: string, unit: string, aim: string, pick: (figures: readonly Figures[]) => number): Row => ({
    what,
    unit,
    aim,
    ours: stored.map(pick),
    bare: bare.map(pick),
  });
  const name = 'call and answer in SQLite (bare: a row for each message)';
  return [
    ...runs.map(({ turns }, at) =>
      row(`${name}, processor time of a turn, ${turns} turns`, 'µs', '', (figures) => figures[at]?.cpuUs ?? Number.NaN),
    ),
    row(`${name}, wall of a turn, 1000 turns`, 'µs', '', (figures) => figures[2]?.wallUs ?? Number.NaN),
    counted('the tool has no effect', '2', stored),
    counted('the tool says nothing of its effect', '3', [untracked]),
    row('bytes on disk for each byte of the transcript, 100 turns', '', 'flat', (figures) => bytesEach(figures[1])),
    row('bytes on disk for each byte of the transcript, 1000 turns', '', 'flat', (figures) => bytesEach(figures[2])),
  ];
}

function counted(what: string, aim: string, from: readonly (readonly Figures[])[]): Row {
  const ours = from.map((figures) => figures.at(-1)?.appends ?? Number.NaN);
  return { what: `appends for a turn, ${what}`, unit: '', aim, ours, bare: [] };
}

function bytesEach(figures: Figures | undefined): number {
  return figures === undefined ? Number.NaN : figures.storeBytes / figures.transcriptBytes;
}

/** Other libraries in Onward's place, over the same model, each beside the bare loop once more. */
export async function benchPeers(rounds: number): Promise<readonly Row[]> {
  const failed = installPeers();
  if (failed !== undefined) console.error(`npm could not install the peers: ${failed}`);
  const names = Object.keys(peers).filter((name) => (peers[name] ?? []).length > 0);
  const rows: Row[] = [];
  for (const subject of names) {
    if (versionsOf(subject) === undefined) {
      console.error(`${subject} is not installed, left out`);
      continue;
    }
    // oxlint-disable-next-line no-await-in-loop -- one peer after the other
    const figures = await pairs(Math.min(rounds, 2), { model: 'provider', shape: 'calls' }, subject);
    rows.push(...rowsOf(figures, `${subject} in place of Onward`, ''));
  }
  return rows;
}

interface Pair {
  readonly ours: readonly Figures[];
  readonly bare: readonly Figures[];
}

async function pairs(
  rounds: number,
  what: Pick<Orders, 'model' | 'shape'>,
  subject = 'onward',
): Promise<readonly Pair[]> {
  const ours: Figures[][] = [];
  const bare: Figures[][] = [];
  const isPeer = subject !== 'onward';
  const lengths = isPeer ? runs.map(({ turns, times }) => ({ turns, times: Math.ceil(times / 4) })) : runs;
  const common = { ...what, warmUp: isPeer ? 3 : 10, runs: lengths };
  await sideBySide(
    rounds,
    () => ours.push(run({ ...common, subject })),
    () => bare.push(run({ ...common, subject: 'bare' })),
  );
  return ours.map((figures, round) => ({ ours: figures, bare: bare[round] ?? [] }));
}

function rowsOf(figures: readonly Pair[], what: string, aim: string): readonly Row[] {
  return runs.map(({ turns }, at) => ({
    what: `${what}, processor time of a turn, ${turns} turns`,
    unit: 'µs',
    aim,
    ours: figures.map(({ ours }) => ours[at]?.cpuUs ?? Number.NaN),
    bare: figures.map(({ bare }) => bare[at]?.cpuUs ?? Number.NaN),
  }));
}

function run(orders: Orders): Figures[] {
  const program = join(import.meta.dirname, 'run-subject.ts');
  const { status, stdout } = spawnSync(process.execPath, [quiet, program, JSON.stringify(orders)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 300_000,
  });
  if (status !== 0) throw new Error(`${orders.subject} exited ${status}`);
  return JSON.parse(stdout) as Figures[];
}

const quiet = '--disable-warning=ExperimentalWarning';

function inFolder<Result>(work: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
