import fc from 'fast-check';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createIo, exitAfterOutput, type Io, type Surroundings } from '../../../src/cli/io.ts';
import { reportError } from '../../../src/cli/report-error.ts';
import { OnwardError } from '../../../src/kernel/error.ts';

interface Streams {
  readonly io: Io;
  readonly around: Surroundings;
  readonly out: () => string;
  readonly err: () => string;
}

function capture(isTTY: boolean): { readonly stream: NodeJS.WriteStream; readonly text: () => string } {
  const through = new PassThrough({ highWaterMark: 1_000 });
  const parts: Buffer[] = [];
  through.on('data', (part: Buffer) => parts.push(part));
  return {
    stream: Object.assign(through, { isTTY, columns: 40 }) as unknown as NodeJS.WriteStream,
    text: () => Buffer.concat(parts).toString('utf8'),
  };
}

function open(env: Readonly<Record<string, string>> = {}, tty: { out?: boolean; err?: boolean } = {}): Streams {
  const [stdout, stderr] = [capture(tty.out ?? false), capture(tty.err ?? false)];
  const around: Surroundings = { stdout: stdout.stream, stderr: stderr.stream, env, cwd: () => '/somewhere' };
  return { io: createIo(around, (words) => `onward ${words}`), around, out: stdout.text, err: stderr.text };
}

const secret = 'canary-0123456789';
const key = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz';

describe('what is printed', () => {
  test('never holds the value of a secret variable, or anything in the form of a credential', () => {
    const { io, out, err } = open({ FAKE_API_KEY: secret });
    io.out(`answer ${secret} ${key}`);
    io.err(`said ${secret} ${key}`);
    io.json({ deep: [{ text: `${secret} ${key}` }], [secret]: 1 });
    reportError(io, new OnwardError('run/x', `with ${secret}`, { place: key, next: [`do ${key}`] }), true);
    expect(`${out()}${err()}`).not.toContain('canary-0');
    expect(`${out()}${err()}`).not.toContain('sk-ant-api03');
    expect(out()).toContain('[redacted]');
  });

  test('stays JSON whatever is redacted', () => {
    const parts = fc.constantFrom(
      '-----BEGIN PRIVATE KEY-----',
      'api_key: "',
      'password=',
      '\\',
      '"',
      '12345678',
      key,
      secret,
    );
    const texts = fc.array(fc.oneof(parts, fc.string())).map((all) => all.join(''));
    fc.assert(
      fc.property(fc.dictionary(texts, fc.oneof(texts, fc.integer(), fc.constant(null))), (value) => {
        const { io, out } = open({ SOME_TOKEN: '12345678', OTHER_KEY: secret });
        io.json({ at: 12_345_678, value });
        const read = JSON.parse(out()) as { readonly at: number };
        expect(out().endsWith('\n') && !out().slice(0, -1).includes('\n')).toBe(true);
        expect(read.at).toBe(12_345_678);
        expect(out()).not.toContain(secret);
      }),
    );
  });

  test('an answer is printed as it is into a file or pipe, and without escape sequences on a terminal', () => {
    const raw = 'one\u001B[2J two\u0007\n';
    const piped = open();
    piped.io.out(raw);
    expect(piped.out()).toBe(`${raw}\n`);
    const terminal = open({}, { out: true });
    terminal.io.out(raw);
    expect(terminal.out()).toBe('one two\n\n');
  });

  test('a status line is redrawn on a terminal, cut to its width, and taken away before the next line', () => {
    const { io, err } = open({ NO_COLOR: '1' }, { err: true });
    io.status('x'.repeat(100));
    io.err('next');
    expect(err()).toBe(`\r\u001B[2K${'x'.repeat(39)}\r\u001B[2Knext\n`);
  });

  test('a terminal that does not say how wide it is gets a line of usual width', () => {
    const { io, around, err } = open({ NO_COLOR: '1' }, { err: true });
    around.stderr.columns = 0;
    io.status('x'.repeat(100));
    expect(err()).toBe(`\r\u001B[2K${'x'.repeat(79)}`);
  });

  test.each([
    ['without a terminal', {}, {}],
    ['on a terminal that cannot', { TERM: 'dumb' }, { err: true }],
  ])('%s there is no status line', (_where, env, tty) => {
    const { io, err } = open(env, tty);
    io.status('soon');
    expect(err()).toBe('');
  });
});

function fail(code: string): Streams {
  const streams = open();
  streams.around.exitCode = 0;
  streams.around.stdout.emit('error', Object.assign(new Error(code), { code }));
  return streams;
}

describe('standard output that cannot be written', () => {
  test.each(['EPIPE', 'EIO'])('is no error when its reader went away (%s)', (code) => {
    const { io, around, err } = fail(code);
    expect(err()).toBe('');
    expect(io.gone.aborted).toBe(true);
    expect(around.exitCode).toBe(0);
    expect(exitAfterOutput(io.gone, 0)).toBe(0);
  });

  test('is said once, and no success, when the disk behind it is full', () => {
    const { io, around, err } = fail('ENOSPC');
    around.stdout.emit('error', Object.assign(new Error('again'), { code: 'ENOSPC' }));
    expect(err()).toBe('onward: standard output cannot be written (ENOSPC); what is on record stays: onward show\n');
    expect(around.exitCode).toBe(2);
    expect(exitAfterOutput(io.gone, 0)).toBe(2);
    expect(exitAfterOutput(io.gone, 4)).toBe(4);
  });

  test('holds the writer back while its reader is slow, and not once that one is gone', async () => {
    const { io, around } = open();
    around.stdout.pause();
    let waited = 0;
    while (!around.stdout.writableNeedDrain && waited++ < 1_000) io.out('x'.repeat(100));
    let drained = false;
    const waiting = io.drained().then(() => (drained = true));
    await Promise.resolve();
    expect(drained).toBe(false);
    around.stdout.resume();
    await waiting;
    around.stdout.emit('error', Object.assign(new Error('EPIPE'), { code: 'EPIPE' }));
    await io.drained();
  });
});

describe('an error', () => {
  test('is one sentence with its code and place, then what to do next', () => {
    const { io, err } = open();
    const error = new OnwardError('run/unknown', 'There is no run x.', { place: 'x', next: ['onward ls', 'Or not.'] });
    expect(reportError(io, error, false)).toBe(2);
    expect(err()).toBe('onward: There is no run x. [run/unknown at x]\n  onward ls\n  Or not.\n');
  });

  test('names the journal in the commands it suggests, where the command line named one', () => {
    const { io, err } = open();
    const own: Io = { ...io, hint: (words) => `onward ${words} --journal j.db` };
    reportError(
      own,
      new OnwardError('run/held', 'Held.', { next: ['onward tail 1', 'There: onward resume 1'] }),
      false,
    );
    expect(err()).toContain('  onward tail 1 --journal j.db\n  There: onward resume 1 --journal j.db\n');
  });

  test('of our own making is a defect, status 1, and says so', () => {
    const { io, err, out } = open();
    expect(reportError(io, new TypeError('x is not a function'), true)).toBe(1);
    expect(err()).toContain('This is a defect of onward.');
    expect(JSON.parse(out())).toMatchObject({ error: { code: 'bug/unexpected', place: null } });
  });
});
