import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isOnwardError } from '../../../src/kernel/error.ts';
import { checkSession, type SessionReport } from '../../../src/session-check/index.ts';
import { conversation, write } from './support/conversation.ts';
import { check, countedIds, createFolder, kindsOf, repair } from './support/files.ts';

const healthy = write(
  'claude',
  conversation(2, () => 1),
);
const lines = healthy.split('\n').slice(0, -1);

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!isOnwardError(error)) throw error ?? new Error('nothing was refused');
  expect(error.place).not.toBeUndefined();
  return `${error.code}: ${error.message}`;
}

function only(file: string): Promise<SessionReport> {
  return checkSession({ file, ids: countedIds() });
}

function into(file: string, to: string): Promise<SessionReport> {
  return checkSession({ file, repair: { to, always: false }, ids: countedIds() });
}

describe('a file that is no session', () => {
  test.each([
    ['', 'session/unreadable: The file is empty.'],
    ['\n\n', 'session/unknown-format: This is no session file of Claude Code, Codex or Onward.'],
    ['hello\n', 'session/unknown-format: This is no session file of Claude Code, Codex or Onward.'],
    ['[1]\n{"a":1}\n', 'session/unknown-format: This is no session file of Claude Code, Codex or Onward.'],
    [
      '{"type":"system","subtype":"init","session_id":"a"}\n',
      'session/unknown-format: This is no session file of Claude Code, Codex or Onward.',
    ],
    [
      '{"stream":"run:a","position":1,"type":"run.accepted","v":1,"data":{}}\n',
      'session/unknown-format: This is no session file of Claude Code, Codex or Onward.',
    ],
  ])('%j is refused', async (content, words) => {
    expect(await refusal(check(content, createFolder()))).toBe(words);
  });

  test('is refused where it is a folder, or is not there', async () => {
    const folder = createFolder();
    expect(await refusal(only(folder))).toBe('session/unreadable: This is a folder: name the file of one session.');
    expect(await refusal(only(join(folder, 'none')))).toBe('session/unreadable: There is no such file.');
    expect(await refusal(only('/dev/null'))).toBe('session/unreadable: This is no regular file.');
  });

  test.skipIf(process.getuid?.() === 0)('is refused where this user may not read it', async () => {
    const file = join(createFolder(), 'secret.jsonl');
    writeFileSync(file, healthy);
    chmodSync(file, 0o000);
    expect(await refusal(checkSession({ file, ids: countedIds() }))).toBe(
      'session/unreadable: The file may not be read by this user.',
    );
  });

  test('is refused where it has the events of two sessions', async () => {
    const one = write(
      'onward',
      conversation(1, () => 0),
    );
    const refused = await refusal(check(one + one.replaceAll('session:0', 'session:1'), createFolder()));
    expect(refused).toContain('session/several-streams');
  });

  test('is refused where a line is no event, as the result at the end of what a chat prints, saying so', async () => {
    const events = write(
      'onward',
      conversation(1, () => 0),
    );
    const refused = await refusal(check(`${events}{"result":{"kind":"done"}}\n`, createFolder()));
    expect(refused).toMatch(
      /^session\/several-streams: The file has events of session:\S+, and a line that is none\.$/,
    );
  });
});

describe('lines that cannot be read', () => {
  test('at the end were cut off, at any byte of the last line, and only that line goes', async () => {
    const folder = createFolder();
    const last = lines.at(-2) ?? '';
    const before = `${lines.slice(0, -2).join('\n')}\n`;
    for (let bytes = 1; bytes < last.length; bytes += 23) {
      const { report, text } = await repair(before + last.slice(0, bytes), folder);
      expect(report.findings[0]).toMatchObject({ kind: 'torn-tail', line: lines.length - 1 });
      expect(text).toBe(before);
    }
  });

  test.each([
    ['garbled', '{"type":"user","mess', 'is no JSON'],
    ['zero bytes', '\0\0\0', 'has zero bytes in it'],
    ['no object', '17', 'is no JSON object'],
  ])('in the middle (%s) are left out and said, and what follows is linked to what was before', async (_, bad, why) => {
    const damaged = [...lines.slice(0, 8), bad, ...lines.slice(9)].map((line) => `${line}\n`).join('');
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings[0]).toMatchObject({ kind: 'unreadable-line', line: 9 });
    expect(report.findings[0]?.says).toContain(why);
    expect(text).not.toContain(bad);
    expect(kindsOf(again)).toEqual([]);
  });

  test('longer than 64 MiB are left out without being read into memory', async () => {
    const folder = createFolder();
    const file = join(folder, 'long.jsonl');
    const handle = openSync(file, 'w');
    writeSync(handle, healthy);
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let count = 0; count < 65; count++) writeSync(handle, piece);
    writeSync(handle, '\n');
    closeSync(handle);
    const to = join(folder, 'copy.jsonl');
    const report = await checkSession({ file, repair: { to, always: false }, ids: countedIds() });
    expect(report.findings).toMatchObject([
      { kind: 'unreadable-line', says: 'This line is 68157440 bytes long: it cannot be read.' },
    ]);
    expect(readFileSync(to, 'utf8')).toBe(healthy);
  });

  test('that are nested deeply are nothing special', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const damaged = healthy
      .replace('"input":{"command":"ls"}', `"input":{"command":${deep}}`)
      .replace('"thinking":"thought 0"', '"thinking":""');
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings).toMatchObject([{ kind: 'empty-thinking' }]);
    expect(text).toContain(deep);
    expect(kindsOf(again)).toEqual([]);
  });

  test('with shapes that nobody writes are passed over', async () => {
    const odd = [
      '{"type":"user","sessionId":1,"message":{"content":{"a":1}}}',
      '{"type":"assistant","uuid":7,"parentUuid":{},"message":{"id":[],"content":[null,3,"x",{"type":[]}]}}',
    ];
    const report = await check(`${odd.join('\n')}\n${healthy}`, createFolder());
    expect(report.format).toBe('claude');
  });
});

describe('bytes that are no text', () => {
  test('are replaced in their line, and the line stays', async () => {
    const damaged = Buffer.from(healthy.replace('prompt 1', 'prompt \u00FF'), 'latin1');
    const { report, text, again } = await repair(damaged, createFolder());
    expect(report.findings.filter(({ kind }) => kind === 'invalid-utf8').length).toBeGreaterThan(0);
    expect(text).toContain('prompt \uFFFD');
    expect(kindsOf(again)).toEqual([]);
  });

  test('a byte order mark goes; carriage returns stay, also on lines that are added', async () => {
    const cut = lines
      .slice(0, 6)
      .map((line) => `${line}\r\n`)
      .join('');
    const { report, text, again } = await repair(`\uFEFF${cut}`, createFolder());
    expect(kindsOf(report)).toEqual(['1 byte-order-mark', '6 call-without-result']);
    expect(text.startsWith(cut)).toBe(true);
    expect(text.slice(cut.length)).toMatch(/^\{[^\r\n]*\[interrupted\][^\r\n]*\}\r\n$/);
    expect(kindsOf(again)).toEqual([]);
  });
});

describe('the copy', () => {
  const damaged = `${lines.slice(0, 6).join('\n')}\n`;
  const place = (): { readonly folder: string; readonly file: string } => {
    const folder = createFolder();
    const file = join(folder, 'a.jsonl');
    writeFileSync(file, damaged, { mode: 0o644 });
    return { folder, file };
  };

  test('is private, complete and alone; the original keeps its bytes and its times', async () => {
    const { folder, file } = place();
    const before = statSync(file, { bigint: true });
    await into(file, join(folder, 'b.jsonl'));
    expect(statSync(join(folder, 'b.jsonl')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).toSorted()).toEqual(['a.jsonl', 'b.jsonl']);
    expect(readFileSync(file, 'utf8')).toBe(damaged);
    expect(statSync(file, { bigint: true }).mtimeNs).toBe(before.mtimeNs);
  });

  test('is never written over the original, by no name that it has, nor over anything else', async () => {
    const { folder, file } = place();
    const link = join(folder, 'link.jsonl');
    symlinkSync(file, link);
    mkdirSync(join(folder, 'taken'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    for (const to of [file, link])
      expect(await refusal(into(file, to))).toBe('session/target: The original is never written: name another file.');
    for (const name of ['taken', 'dangling'])
      expect(await refusal(into(file, join(folder, name)))).toBe(
        'session/target: There is something at this path already.',
      );
    expect(readFileSync(file, 'utf8')).toBe(damaged);
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
  });

  test('is not begun where it cannot be written, and leaves nothing behind', async () => {
    const { folder, file } = place();
    expect(await refusal(into(file, join(folder, 'none', 'b.jsonl')))).toBe(
      'session/target: The copy cannot be written (ENOENT).',
    );
    expect(readdirSync(folder)).toEqual(['a.jsonl']);
  });

  test('is only made where there is something to repair', async () => {
    const { folder } = place();
    const file = join(folder, 'healthy.jsonl');
    writeFileSync(file, healthy);
    await into(file, join(folder, 'b.jsonl'));
    expect(existsSync(join(folder, 'b.jsonl'))).toBe(false);
  });

  test('of a session that goes on being written is refused', async () => {
    const { folder, file } = place();
    const writing = {
      uuid: (): string => {
        writeFileSync(file, `${damaged}{}\n`);
        return 'id';
      },
    };
    const work = checkSession({ file, repair: { to: join(folder, 'b.jsonl'), always: false }, ids: writing });
    expect(await refusal(work)).toBe('session/changed: The file was written to while it was read.');
    expect(readdirSync(folder)).toEqual(['a.jsonl']);
  });

  test('of a file of which nothing would be left is refused', async () => {
    const folder = createFolder();
    const file = join(folder, 'a.jsonl');
    const call = JSON.stringify({
      stream: 'session:a',
      position: 2,
      type: 'call.finished',
      v: 1,
      data: { id: 'x', turn: 1, step: 1 },
    });
    writeFileSync(file, `${call}\n`);
    expect(await refusal(into(file, join(folder, 'b.jsonl')))).toContain(
      'session/not-repairable: The session cannot be repaired: nothing would be left of it',
    );
  });
});
