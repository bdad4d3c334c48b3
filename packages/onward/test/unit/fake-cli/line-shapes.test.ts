import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliName, Play } from '../../../src/lab/fake-cli/index.ts';
import { Bench, headless, streaming, userMessage, type Line } from './run-fake.ts';

const transcripts = join(import.meta.dirname, '../../transcripts');

/** Every path of a line with the type of its value, such as `result.usage.input_tokens:number`. */
function shape(line: Line): string[] {
  const subtype =
    line['subtype'] ?? (line['event'] as Line | undefined)?.type ?? (line['item'] as Line | undefined)?.type;
  return paths(line, [line.type, subtype].filter((part) => typeof part === 'string').join('/'));
}

function paths(value: unknown, at: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => paths(one, `${at}[]`));
  if (value === null || typeof value !== 'object') return [`${at}:${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([name, one]) =>
    paths(one, `${at}.${/^claude-|^gpt-/.test(name) ? 'MODEL' : name}`),
  );
}

function recordedShapes(name: CliName): Set<string> {
  const found = new Set<string>();
  for (const cell of readdirSync(join(transcripts, name))) {
    for (const file of readdirSync(join(transcripts, name, cell))) {
      if (!file.endsWith('.jsonl')) continue;
      const lines = readFileSync(join(transcripts, name, cell, file), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      for (const line of lines) for (const path of shape(JSON.parse(line) as Line)) found.add(path);
    }
  }
  return found;
}

/** Type and subtype of each line. */
function order(lines: readonly Line[]): string[] {
  return lines.map((line) => `${line.type ?? ''}/${line['subtype'] as string}`);
}

/** The same, with several deltas in a row as one. */
function kinds(lines: readonly Line[]): string[] {
  const all = lines.map((line) => (line['event'] as Line | undefined)?.type ?? order([line])[0] ?? '');
  return all.filter((kind, index) => kind !== 'content_block_delta' || all[index - 1] !== kind);
}

const everything: Play = {
  attempts: [
    {
      steps: [
        { do: 'request' },
        { do: 'retry', attempt: 1, of: 10, with: 'overloaded' },
        { do: 'delta', text: 'I ' },
        { do: 'text', text: 'I begin.' },
        { do: 'tool', command: 'echo done' },
        { do: 'tool', command: 'echo no >&2; exit 3' },
        { do: 'request' },
        { do: 'error-line', with: 'disconnected' },
        { do: 'fail', with: 'overloaded' },
      ],
    },
    { steps: [{ do: 'request' }, { do: 'fail', with: 'usage-limit' }] },
    { steps: [{ do: 'request' }, { do: 'answer', text: 'Done.' }] },
    { steps: [{ do: 'request' }, { do: 'answer', text: '' }] },
  ],
};

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

describe('the lines of the stand-in', () => {
  it.each([
    ['claude', [...headless, '--include-partial-messages', 'go']],
    ['codex', ['exec', '--json', 'go']],
  ] as const)('have no field or type of value that the real %s was not seen to print', async (name, args) => {
    const cli = bench.install(everything, name);
    const recorded = recordedShapes(name);
    const printed = new Set<string>();
    for (let run = 0; run < everything.attempts.length; run++) {
      for (const line of (await bench.run(cli, args)).lines()) for (const path of shape(line)) printed.add(path);
    }
    expect([...printed].filter((path) => !recorded.has(path))).toEqual([]);
    expect(printed.size).toBeGreaterThan(name === 'claude' ? 100 : 15);
  });

  it('come in the order of the real claude, also those of an interrupted turn', async () => {
    const real = readFileSync(join(transcripts, 'claude/sigint-midtool/stdout.jsonl'), 'utf8').trim().split('\n');
    const run = bench.start(
      bench.install({
        attempts: [
          { steps: [{ do: 'request' }, { do: 'text', text: 'I begin.' }, { do: 'tool', command: 'exec sleep 600' }] },
        ],
      }),
      streaming,
    );
    run.send(userMessage('go'));
    await run.line((line) => JSON.stringify(line).includes('tool_use'));
    run.send({ type: 'control_request', request_id: 'stop', request: { subtype: 'interrupt' } });
    await run.line((line) => line.type === 'result');
    const own = run.lines().filter((line) => line.type !== 'control_response');
    expect(order(own)).toEqual(order(real.map((line) => JSON.parse(line) as Line)));
    const [last, realLast] = [own.at(-1), JSON.parse(real.at(-1) ?? '') as Line];
    expect(Object.keys(last ?? {}).toSorted()).toEqual(Object.keys(realLast).toSorted());
    expect([last?.['terminal_reason'], last?.['num_turns']]).toEqual([
      realLast['terminal_reason'],
      realLast['num_turns'],
    ]);
  });

  it('with partial messages surround each message as in the recording', async () => {
    const recorded = readFileSync(join(transcripts, 'claude/cut_text-r2-partial-once/stdout.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    const until = recorded.findIndex((line) => line.type === 'user');
    const steps = everything.attempts[0]?.steps.filter((step) => step.do !== 'retry') ?? [];
    const run = await bench.run(bench.install({ attempts: [{ steps }] }), [
      ...headless,
      '--include-partial-messages',
      'go',
    ]);
    expect(kinds(run.lines()).slice(0, kinds(recorded.slice(0, until)).length)).toEqual(
      kinds(recorded.slice(0, until)),
    );
  });
});
