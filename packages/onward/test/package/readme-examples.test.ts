import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startFakeService, startModelServer } from '../../src/lab/index.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
const ROOT = resolve(PACKAGE, '../..');
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const examples = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);

function exampleWith(word: string): string {
  const found = examples.filter((code) => code.includes(word));
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

/** The lines that do something: imports say where from, blank lines nothing. */
function linesOf(code: string): number {
  return code.split('\n').filter((line) => line.trim() !== '').length;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onward-readme-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/onward'));
  for (const name of ['ai', 'zod', '@ai-sdk'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(
  code: string,
  env: Readonly<Record<string, string>>,
): Promise<{ out: string; err: string; code: number | null }> {
  writeFileSync(join(folder, 'example.ts'), code);
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'example.ts'], {
    cwd: folder,
    env: { PATH, HOME: folder, ...env },
    timeout: 20_000,
  });
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => err.push(text));
  const status = await new Promise<number | null>((done) => child.on('close', done));
  return { out: out.join(''), err: err.join(''), code: status };
}

describe('the examples of the README', () => {
  test('an agent answers although its provider is overloaded once and then cuts the stream', async () => {
    const code = exampleWith('createAgent(');
    expect(linesOf(code)).toBeLessThanOrEqual(12);
    await using server = await startModelServer({
      script: {
        turns: [{ calls: [{ name: 'weather', input: { city: 'Bonn' } }] }, { text: 'Yes, take one.' }],
        faults: [
          { from: 1, fault: { kind: 'error', error: 'overloaded' } },
          { from: 3, fault: { kind: 'cut', at: 'text', how: 'rst' } },
        ],
      },
    });
    const result = await run(code, { ANTHROPIC_BASE_URL: `${server.url}/v1`, ANTHROPIC_API_KEY: 'lab' });
    expect(result).toEqual({ out: 'Yes, take one.\n', err: '', code: 0 });
    expect(server.requests).toHaveLength(4);
  });

  test('once() pays once although the answer of the service was lost, and again not in a second run', async () => {
    const code = exampleWith('await once(');
    expect(linesOf(code)).toBeLessThanOrEqual(12);
    await using shop = await startFakeService({ behaviour: { treatments: [{ kind: 'drop-answer' }] } });
    const env = { SHOP_URL: shop.url };
    expect(await run(code, env)).toEqual({ out: 'accepted\n', err: '', code: 0 });
    expect(await run(code, env)).toEqual({ out: 'accepted\n', err: '', code: 0 });
    expect(shop.acceptances).toHaveLength(1);
  });

  test('recovering() streams the text once although the first request was refused', async () => {
    const code = exampleWith('recovering(');
    expect(linesOf(code)).toBeLessThanOrEqual(12);
    await using server = await startModelServer({
      script: { turns: [{ text: 'Hello.' }], faults: [{ from: 1, fault: { kind: 'error', error: 'overloaded' } }] },
    });
    const result = await run(code, { ANTHROPIC_BASE_URL: `${server.url}/v1`, ANTHROPIC_API_KEY: 'lab' });
    expect(result).toEqual({ out: 'Hello.stop\n', err: '', code: 0 });
    expect(server.requests).toHaveLength(2);
  });
});
