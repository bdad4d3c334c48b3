import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { healthy, neverEnds } from '../../../src/lab/index.ts';
import { fingerprint } from './support/files.ts';
import { BIN, type Ended, Place } from './support/place.ts';
import { until } from './support/until.ts';

const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash'];
const quick = ['--schedule', '20ms,20ms'];

/** A place whose journal has one finished run. */
async function used(): Promise<Place> {
  const place = new Place();
  place.install(healthy());
  expect((await place.onward(['run', '--', ...task])).code).toBe(0);
  return place;
}

/** Says the fact in one line with its code, then what to do; status 2; nothing on standard output. */
function checkRefused({ code, stdout, stderr }: Ended, errorCode: string, fact: string | RegExp): void {
  expect(code, stderr).toBe(2);
  expect(stdout).toBe('');
  const lines = stderr.split('\n').filter((line) => line.startsWith('onward: ') && line.includes('['));
  expect(lines, stderr).toHaveLength(1);
  expect(lines[0]).toMatch(fact);
  expect(lines[0]).toContain(`[${errorCode}`);
  expect(stderr.slice(stderr.indexOf(lines[0] ?? ''))).toMatch(/^[^\n]+\n {2}\S/);
  expect(stderr).not.toMatch(/\n {4}at /);
}

const isRoot = process.getuid?.() === 0;
const mayUnshare = spawnSync('unshare', ['-m', 'true']).status === 0;

/** Runs SQL on the journal as another program would. */
function sql(place: Place, text: string): void {
  const db = new DatabaseSync(place.journal);
  db.exec(text);
  db.close();
}

describe('a journal that cannot be used', () => {
  const verbs = [['ls'], ['show'], ['resume'], ['run', '--', ...task]] as const;

  test.each([
    ['is not a database', 'x'.repeat(5_000)],
    ['is empty of sense', 'SQLite format 3\0'.padEnd(4_096, 'z')],
  ])('because it %s is left as it is', async (_what, content) => {
    for (const verb of verbs) {
      const place = new Place();
      const agent = place.install(healthy());
      mkdirSync(place.state);
      writeFileSync(place.journal, content);
      checkRefused(await place.onward(verb), 'journal/not-a-database', /is not a database, so it is no journal/);
      expect(readFileSync(place.journal, 'utf8')).toBe(content);
      expect(agent.attempts()).toBe(0);
    }
  });

  test('because it is the database of another program is left as it is', async () => {
    const place = new Place();
    mkdirSync(place.state);
    sql(place, 'create table customers (id integer primary key); insert into customers values (7)');
    const before = fingerprint(place.journal);
    const { code, stderr } = await place.onward(['ls']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^onward: .*\[journal\//);
    expect(fingerprint(place.journal)).toEqual(before);
  });

  test('because it is a folder, or below something that is no folder', async () => {
    const place = new Place();
    checkRefused(await place.onward(['ls', '--journal', place.cwd]), 'journal/not-a-database', /is a folder/);
    writeFileSync(join(place.cwd, 'file'), '');
    const below = join(place.cwd, 'file', 'journal.db');
    checkRefused(await place.onward(['ls', '--journal', below]), 'journal/no-folder', /cannot be made/);
  });

  test('because a newer Onward wrote it is left as it is', async () => {
    const place = await used();
    sql(place, 'pragma user_version = 9999');
    const before = fingerprint(place.journal);
    for (const verb of verbs) checkRefused(await place.onward(verb), 'journal/newer', /newer/);
    expect(fingerprint(place.journal)).toEqual(before);
  });

  test('because another program holds it is waited for, then told', async () => {
    const place = await used();
    const db = new DatabaseSync(place.journal);
    onTestFinished(() => db.close());
    db.exec('begin exclusive; select 1');
    const agent = place.install(healthy());
    checkRefused(await place.onward(['run', '--', ...task]), 'journal/locked', /Another program holds the journal/);
    expect(agent.attempts()).toBe(0);
    db.exec('rollback');
    expect((await place.onward(['run', '--', ...task])).code).toBe(0);
  });

  test.skipIf(isRoot && !mayUnshare)(
    'because it may not be written is told, and unharmed (skipped for root without namespaces)',
    async () => {
      const place = await used();
      const before = fingerprint(place.journal);
      // Root may write whatever its mode says, so that the file system must refuse.
      const readOnly = isRoot
        ? `mount --bind '${place.state}' '${place.state}' && mount -o remount,bind,ro '${place.state}'`
        : `chmod a-w '${place.journal}'`;
      const shell = ['sh', '-c', `${readOnly} && exec "$0" "$@"`, process.execPath, BIN, 'ls'];
      const argv = isRoot ? ['unshare', '-m', ...shell] : shell;
      checkRefused(await place.startProgram(argv).ended, 'journal/read-only', /cannot be written/);
      expect(fingerprint(place.journal)).toEqual(before);
    },
  );

  test('because one run in it is damaged hides no other run', async () => {
    const place = await used();
    const [first] = (await place.json(['ls'])) as [{ run: string }];
    sql(place, `update event set data = replace(data, 'claude', 'clawed') where type = 'run.accepted'`);
    place.install(healthy());
    await place.onward(['run', '--name', 'whole', '--', ...task]);
    const list = await place.onward(['ls', '--json']);
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(/^\{"run":"\w{12}","name":"whole",[^\n]+\}\n$/);
    expect(list.stderr).toContain(`onward: the run ${first.run} is left out:`);
    expect((await place.onward(['show', 'whole'])).code).toBe(0);
    const damaged = await place.onward(['show', first.run]);
    expect(damaged.code).toBe(2);
    expect(damaged.stderr).toContain(`[journal/damaged at run:${first.run}@1]`);
  });
});

describe('a journal that goes away while a run is live', () => {
  test.each([
    [
      'it is deleted',
      (path: string) => [path, `${path}-wal`, `${path}-shm`].forEach((file) => rmSync(file, { force: true })),
      'is gone',
    ],
    ['it is moved away', (path: string) => renameSync(path, `${path}.old`), 'is gone'],
    [
      'another file is put in its place',
      (path: string) => {
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      },
      'was replaced by another file',
    ],
  ])('because %s: the agent is ended, and the status says that something is wrong', async (_what, act, fact) => {
    const place = new Place();
    const agent = place.install(neverEnds());
    const run = place.start(['run', ...quick, '--', ...task]);
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    act(place.journal);
    const ended = await run.ended;
    checkRefused(ended, 'journal/vanished', fact);
    await place.quiet();
    expect(agent.attempts()).toBe(1);
  });
});

/** Whether this user may mount a file system of one megabyte. */
const mayMount = isRoot && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

/** A folder on a file system of less than a megabyte. */
function mountSmall(place: Place): string {
  const folder = join(place.root, 'small');
  mkdirSync(folder);
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=768k,mode=0700', 'tmpfs', folder]).status).toBe(0);
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  return folder;
}

describe.skipIf(!mayMount)('a full disk (skipped without the right to mount a small one)', () => {
  test('is told with the next step; what was acknowledged is still there once there is room', async () => {
    const place = new Place();
    const folder = mountSmall(place);
    const journal = join(folder, 'journal.db');
    const agent = place.install(neverEnds());
    const run = place.start(['run', ...quick, '--journal', journal, '--', ...task]);
    const id = await run.id();
    await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
    spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'filler')}`, 'bs=4096']);
    run.signal('SIGINT');
    const ended = await run.ended;
    checkRefused(ended, 'journal/', /no room left|disk refused/);
    await place.quiet();
    rmSync(join(folder, 'filler'));
    expect(await place.json(['ls', '--journal', journal])).toMatchObject([{ run: id, state: 'orphaned', live: false }]);
    const resumed = await place.onward(['resume', id, '--journal', journal]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(place.read('effects.log')).toBe('one\n');
    expect(existsSync(place.journal)).toBe(false);
  });

  test('from the beginning starts no agent', async () => {
    const place = new Place();
    const folder = mountSmall(place);
    spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'filler')}`, 'bs=4096']);
    const agent = place.install(healthy());
    const ended = await place.onward(['run', '--journal', join(folder, 'journal.db'), '--', ...task]);
    checkRefused(ended, 'journal/', /no room left|cannot be made|disk refused/);
    expect(agent.attempts()).toBe(0);
  });
});
