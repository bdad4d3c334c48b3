import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionFormat } from '../../../src/session-check/index.ts';
import { asObject, type JsonObject } from '../../../src/session-check/json-shape.ts';
import { conversation, write } from './support/conversation.ts';
import { createFolder, kindsOf, repair } from './support/files.ts';
import { type Provider, startProvider, taken } from './support/provider.ts';
import { piecesOf } from './support/wire.ts';

const formats: readonly SessionFormat[] = ['claude', 'codex', 'onward'];
let provider: Provider;
beforeAll(async () => void (provider = await startProvider()));
afterAll(() => provider[Symbol.asyncDispose]());

function linesOf(text: string): readonly string[] {
  return text.split('\n').slice(0, -1);
}

/** The file as if these lines had never been written: what came after them hangs on what was before, and positions have no gap. */
function without(text: string, gone: (line: string) => boolean): string {
  const parents = new Map<string, string>();
  const kept = linesOf(text).flatMap((line) => {
    const parent = /"parentUuid":"([^"]*)"/.exec(line)?.[1] ?? '';
    const linked = line.replace(`"parentUuid":"${parent}"`, `"parentUuid":"${parents.get(parent) ?? parent}"`);
    if (!gone(line)) return [linked];
    parents.set(/"uuid":"([^"]*)"/.exec(line)?.[1] ?? '', parents.get(parent) ?? parent);
    return [];
  });
  return kept.map((line, index) => `${line.replace(/"position":\d+/, `"position":${index + 1}`)}\n`).join('');
}

const isResult = (line: string, id: string): boolean =>
  /tool_result|function_call_output|call\.finished/.test(line) && line.includes(`"${id}"`);

const interrupted = (text: string, format: SessionFormat): readonly string[] =>
  piecesOf(format, text).flatMap((piece) =>
    piece.kind === 'result' && piece.text.startsWith('[interrupted]') ? [piece.id] : [],
  );

describe.each(formats)('a session of %s', (format) => {
  test('that is healthy is clean, and a copy of it is the same byte for byte', async () => {
    const healthy = write(
      format,
      conversation(4, (turn) => turn),
    );
    const { report, text } = await repair(healthy, createFolder());
    expect(kindsOf(report)).toEqual([]);
    expect(report).toMatchObject({ format, session: '01a22f0b-95d8-7180-81ac-322acd10bd26' });
    expect(text).toBe(healthy);
    expect(await provider.ask(format, healthy)).toEqual(taken);
  });

  test('R59 R65 with an orphan call at message 4 of 30 is refused on every wire, and taken once it is repaired', async () => {
    const [first, ...rest] = conversation(8, () => 1);
    const turns = [{ prompt: 'first', answers: first?.answers.slice(1) ?? [] }, ...rest];
    const healthy = write(format, turns);
    const roles = piecesOf(format, healthy).map(({ kind }) =>
      kind === 'user' || kind === 'result' ? 'user' : 'assistant',
    );
    expect(roles.filter((role, index) => role !== roles[index - 1])).toHaveLength(30);
    const damaged = without(healthy, (line) => isResult(line, 'call_1_0'));
    for (const refusal of Object.values(await provider.ask(format, damaged))) expect(refusal).toMatch(/call|tool/);
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'call-without-result', id: 'call_1_0' }]);
    expect(interrupted(text, format)).toEqual(['call_1_0']);
    expect(await provider.ask(format, text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R58 that ends with an open call is taken once it is repaired', async () => {
    const healthy = write(
      format,
      conversation(2, () => 1),
    );
    const lines = linesOf(healthy);
    const last = lines.findLastIndex(
      (line) => /"tool_use"|function_call"|call\.started/.test(line) && line.includes('call_1_0'),
    );
    const cut = `${lines.slice(0, last + 1).join('\n')}\n`;
    expect(Object.values(await provider.ask(format, cut))).not.toContain('ok');
    const { report, text, again } = await repair(cut, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'call-without-result', id: 'call_1_0' }]);
    expect(text.startsWith(cut)).toBe(true);
    expect(await provider.ask(format, text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R60 with three parallel calls that were interrupted gets three results that say so; the original stays as a backup', async () => {
    const healthy = write(
      format,
      conversation(3, () => 3),
    );
    const damaged = without(healthy, (line) => ['call_1_0', 'call_1_1', 'call_1_2'].some((id) => isResult(line, id)));
    const folder = createFolder();
    const { report, text } = await repair(damaged, folder);
    expect(report.findings.map(({ id }) => id)).toEqual(['call_1_0', 'call_1_1', 'call_1_2']);
    expect(interrupted(text, format)).toEqual(['call_1_0', 'call_1_1', 'call_1_2']);
    expect(await provider.ask(format, text)).toEqual(taken);
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(report.file, 'utf8')).toBe(damaged);
  });

  test('with one of three parallel results lost gets only that one', async () => {
    const healthy = write(
      format,
      conversation(3, () => 3),
    );
    for (const id of ['call_1_0', 'call_1_1', 'call_1_2']) {
      const { text, again } = await repair(
        without(healthy, (line) => isResult(line, id)),
        createFolder(),
      );
      expect(interrupted(text, format)).toEqual([id]);
      expect(await provider.ask(format, text)).toEqual(taken);
      expect(kindsOf(again)).toEqual([]);
    }
  });

  test('with a result whose call is gone loses the result', async () => {
    const healthy = write(
      format,
      conversation(3, () => 2),
    );
    const damaged = healthy.replaceAll(/.*\n/g, (line) =>
      isResult(line, 'call_1_0') ? line.replaceAll('call_1_0', 'call_lost') : line,
    );
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings.map(({ kind }) => kind).toSorted()).toEqual(['call-without-result', 'result-without-call']);
    expect(text).not.toContain('call_lost');
    expect(await provider.ask(format, text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('with an id that two calls share gives the second and its result one of their own', async () => {
    const healthy = write(
      format,
      conversation(3, () => 2),
    );
    const damaged = healthy.replaceAll('call_2_1', 'call_1_0');
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'duplicate-call', id: 'call_1_0' }]);
    expect(text).toBe(
      damaged.replaceAll(/.*\n/g, (line, at: number) =>
        at > damaged.indexOf('prompt 2') ? line.replaceAll('call_1_0', 'call_1_0_2') : line,
      ),
    );
    expect(await provider.ask(format, text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('with an id that two turns share and a result lost gives each call what belongs to its own turn', async () => {
    const shared = write(
      format,
      conversation(3, () => 1),
    ).replaceAll('call_2_0', 'call_1_0');
    const second = shared.indexOf('prompt 2');
    const damaged = without(shared, (line) => isResult(line, 'call_1_0') && shared.indexOf(line) < second);
    const { text, again } = await repair(damaged, createFolder());
    expect(interrupted(text, format)).toEqual(['call_1_0']);
    expect(piecesOf(format, text)).toContainEqual(expect.objectContaining({ id: 'call_1_0_2', text: 'out 2 0 ✓' }));
    expect(await provider.ask(format, text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('with the result of an answered call twice keeps the first', async () => {
    const healthy = write(
      format,
      conversation(2, () => 2),
    );
    let count = 0;
    const damaged = healthy.replaceAll(/.*\n/g, (line) => {
      const text = line.replace(/"position":\d+/, () => `"position":${(count += 1)}`);
      if (!isResult(line, 'call_0_1')) return text;
      const other = text
        .replace(/"uuid":"[^"]*"/, '"uuid":"other"')
        .replace(/"position":\d+/, () => `"position":${(count += 1)}`);
      return text + other.replace('out 0 1', 'another');
    });
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'duplicate-result', id: 'call_0_1' }]);
    expect(text).toBe(healthy);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R57 with an image over 5 MB goes on with a note in its place, and the text beside it stays', async () => {
    const [first, ...rest] = conversation(2, () => 1);
    const size = (format === 'codex' ? 50 : 5) * 1024 * 1024;
    const [fits, over] = [size, size + 4].map((length) =>
      write(format, [{ ...first, prompt: 'look', answers: first?.answers ?? [], image: 'A'.repeat(length) }, ...rest]),
    );
    expect(kindsOf((await repair(fits ?? '', createFolder())).report)).toEqual([]);
    const { report, text, again } = await repair(over ?? '', createFolder());
    expect(report.findings).toMatchObject([{ kind: 'oversized-media' }]);
    expect(text.length).toBeLessThan(20_000);
    expect(text).toContain('"look"');
    expect(text).toContain('An image of');
    expect(linesOf(text).filter((line) => !linesOf(over ?? '').includes(line))).toHaveLength(1);
    expect(await provider.ask(format, text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R61 with thinking intact keeps it byte for byte, also in a line that is repaired', async () => {
    const healthy = write(
      format,
      conversation(3, () => 1),
    );
    const damaged = without(healthy, (line) => isResult(line, 'call_1_0'));
    const { text } = await repair(damaged, createFolder());
    const thoughts = (of: string): unknown => piecesOf(format, of).filter(({ kind }) => kind === 'thought');
    expect(thoughts(text)).toEqual(thoughts(healthy));
    expect(await provider.ask(format, text)).toEqual(taken);
  });
});

describe('thinking', () => {
  const emptied: Readonly<Record<'claude' | 'onward', (line: string) => string>> = {
    claude: (line) => line.replace('"thinking":"thought 1"', '"thinking":""'),
    onward: (line) => line.replace('"text":"thought 1"', '"text":""'),
  };

  test.each(['claude', 'onward'] as const)(
    'R61 of %s whose text is gone but not its signature is left out, and the session is usable',
    async (format) => {
      const damaged = emptied[format](
        write(
          format,
          conversation(3, () => 1),
        ),
      );
      expect((await provider.ask(format, damaged)).messages).toContain('signature');
      const { report, text, again } = await repair(damaged, createFolder());
      expect(report.findings).toMatchObject([{ kind: 'empty-thinking' }]);
      expect(piecesOf(format, text).filter(({ kind }) => kind === 'thought')).toHaveLength(2);
      expect(await provider.ask(format, text)).toEqual(taken);
      expect(kindsOf(again)).toEqual([]);
    },
  );

  test('R62 of another model than the session goes on with is left out, that of its own stays', async () => {
    const healthy = write(
      'claude',
      conversation(3, () => 1),
    );
    const damaged = healthy.replaceAll(/.*\n/g, (line, at: number) =>
      at < healthy.indexOf('prompt 1') ? line.replace('some-model', 'a-model-before') : line,
    );
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'foreign-thinking' }]);
    expect(report.findings[0]?.says).toBe(
      'Only a-model-before can read this thinking; the session goes on with some-model.',
    );
    expect(piecesOf('claude', text).flatMap((piece) => (piece.kind === 'thought' ? [piece.text] : []))).toEqual([
      'thought 1',
      'thought 2',
    ]);
    expect(await provider.ask('claude', text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R62 of another model loses its seal in a session of ours, and what can be read of it stays', async () => {
    const healthy = write(
      'onward',
      conversation(3, () => 1),
    );
    const turn = healthy.indexOf('prompt 1');
    const damaged = healthy.replaceAll(/.*\n/g, (line, at: number) =>
      at < turn ? line.replace('anthropic/some-model', 'openai/another') : line,
    );
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'foreign-thinking' }]);
    expect(text).toContain('"part":{"type":"thinking","text":"thought 0"}');
    expect(await provider.ask('onward', text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R62 of another provider is left out of a session of Codex', async () => {
    const healthy = write(
      'codex',
      conversation(2, () => 1),
    );
    const meta = '{"type":"session_meta","payload":{"model_provider":"azure"}}\n';
    const { report, text, again } = await repair(healthy + meta, createFolder());
    expect(report.findings.map(({ kind }) => kind)).toEqual(['foreign-thinking', 'foreign-thinking']);
    expect(piecesOf('codex', text).filter(({ kind }) => kind === 'thought')).toEqual([]);
    expect(await provider.ask('codex', text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });

  test('R62 that lost its signature is left out', async () => {
    const damaged = write(
      'claude',
      conversation(2, () => 1),
    ).replace(/"signature":"[^"]*"/, '"signature":""');
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'unsigned-thinking' }]);
    expect(await provider.ask('claude', text)).toEqual(taken);
    expect(kindsOf(again)).toEqual([]);
  });
});

describe('the lines of a repaired copy', () => {
  test('are those of the original but for one link, where a result was added', async () => {
    const healthy = write(
      'claude',
      conversation(3, () => 1),
    );
    const damaged = without(healthy, (line) => isResult(line, 'call_1_0'));
    const { report, text } = await repair(damaged, createFolder());
    const old = linesOf(damaged);
    const made = linesOf(text);
    const added = made.filter((line) => line.includes('[interrupted]'));
    expect(added).toHaveLength(1);
    const rest = made.filter((line) => !added.includes(line));
    const changed = old.flatMap((line, index) => (line === rest[index] ? [] : [index]));
    expect(changed.map((index) => index + 1)).toEqual(report.repaired?.changedLines);
    expect(changed).toHaveLength(1);
    const [before, after] = [old, rest].map((lines) => JSON.parse(lines[changed[0] ?? 0] ?? '') as JsonObject);
    expect({ ...after, parentUuid: null }).toEqual({ ...before, parentUuid: null });
    expect(asObject(after)['parentUuid']).toBe(asObject(JSON.parse(added[0] ?? ''))['uuid']);
  });
});
