import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parsePlay, recordedCell, type CliName } from '../../../src/lab/fake-cli/index.ts';
import { Bench, headless } from './run-fake.ts';

const transcripts = join(import.meta.dirname, '../../transcripts');
const cells = (cli: CliName): string[] => readdirSync(join(transcripts, cli)).toSorted();
const flags = { claude: [...headless, 'go'], codex: ['exec', '--json', 'go'] } as const;

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

describe.each([
  ['claude', 'e529-r2-min', 1, null],
  ['claude', 'healthy', 0, null],
  ['claude', 'kill9-midtext-r2', null, 'SIGKILL'],
  ['codex', 'usage-r2-min', 1, null],
  ['codex', 'healthy', 0, null],
] as const)('%s %s', (name, cell, code, signal) => {
  it('is played back byte for byte, with the ending that was recorded', async () => {
    const folder = join(transcripts, name, cell);
    const cli = bench.install(recordedCell(folder, 'verbatim'), name);
    const run = await bench.run(cli, flags[name]);
    expect(run.out()).toBe(readFileSync(join(folder, 'stdout.jsonl'), 'utf8'));
    expect({ code: run.code, signal: run.signal }).toEqual({ code, signal });
  });
});

describe('a recorded cell', () => {
  it('is resumed in the session of the process, with the recorded stream of the resume', async () => {
    const folder = join(transcripts, 'claude', 'e529-r2-min');
    const cli = bench.install(recordedCell(folder));
    const id = 'aaaaaaaa-0000-4000-8000-000000000001';
    const first = await bench.run(cli, [...headless, '--session-id', id, 'go']);
    const second = await bench.run(cli, [...headless, '--resume', id, 'go on']);
    expect(new Set([...first.lines(), ...second.lines()].map((line) => line['session_id']))).toEqual(new Set([id]));
    expect([first.code, second.code]).toEqual([1, 0]);
    const recorded = readFileSync(join(folder, 'resume.stdout.jsonl'), 'utf8');
    expect(second.out()).toBe(recorded.replaceAll(/"session_id":"[^"]*"/g, `"session_id":"${id}"`));
  });

  it.each(['claude', 'codex'] as const)('is a valid play for every folder of %s', (name) => {
    for (const cell of cells(name)) parsePlay(recordedCell(join(transcripts, name, cell)));
    expect(cells(name).length).toBeGreaterThan(80);
  });
});

describe('the recordings', () => {
  it('hold whole lines of JSON, name no machine and stay small', () => {
    for (const name of ['claude', 'codex'] as const) {
      for (const cell of cells(name)) {
        for (const file of readdirSync(join(transcripts, name, cell))) {
          const text = readFileSync(join(transcripts, name, cell, file), 'utf8');
          expect(text.length, `${cell}/${file}`).toBeLessThan(60_000);
          expect(text, `${cell}/${file}`).not.toMatch(/\/(?:root|tmp|opt|var|Users)\/|sk-[A-Za-z0-9]{8}|Bearer /);
          if (!file.endsWith('.jsonl')) continue;
          for (const line of text.split('\n').filter((one) => one !== '')) JSON.parse(line);
        }
      }
    }
  });
});
