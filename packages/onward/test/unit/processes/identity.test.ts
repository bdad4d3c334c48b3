import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { hostIdentity, identify, isAlive, liveness, ownIdentity } from '../../../src/processes/index.ts';
import { parseStat } from '../../../src/processes/process-table.ts';
import { listByPs, parseEnvironments } from '../../../src/processes/ps.ts';
import { startForeign, until } from './support.ts';

describe('the identity of a process', () => {
  test('is alive for this process and stays the same', () => {
    expect(isAlive(ownIdentity())).toBe(true);
    expect(identify(process.pid)).toEqual(ownIdentity());
  });

  test('R119 a pid that another process got in the meantime is gone', () => {
    const own = ownIdentity();
    expect(liveness({ pid: own.pid, startedAt: `${own.startedAt}1` })).toBe('gone');
  });

  test('a process of an earlier boot is gone, one of another container of this boot is unknown and counts as alive', () => {
    const { pid, startedAt } = ownIdentity();
    const [boot, namespace, ticks] = startedAt.split('/');
    expect(liveness({ pid, startedAt: `other-boot/${namespace}/${ticks}` })).toBe('gone');
    const elsewhere = { pid, startedAt: `${boot}/1/${ticks}` };
    expect(liveness(elsewhere)).toBe('unknown');
    expect(isAlive(elsewhere)).toBe(true);
    expect(liveness({ pid, startedAt: 'unreadable' })).toBe('unknown');
  });

  test('a zombie counts as gone', async () => {
    // The shell execs into sleep, which never collects the child it inherited.
    const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 100'], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const pid = await new Promise<number>((resolve) => {
        parent.stdout.once('data', (data: Buffer) => resolve(Number(String(data))));
      });
      await until('it is a zombie', () => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
      expect(identify(pid)).toBeUndefined();
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('nothing has no identity', () => {
    expect(identify(2 ** 30)).toBeUndefined();
  });

  test('a program name with blanks and brackets does not shift the fields', () => {
    const fields = Array.from({ length: 49 }, (_, index) => String(index + 4)).join(' ');
    const row = parseStat(`7 (a ) S 1 (b) S ${fields}`);
    expect(row).toMatchObject({ pid: 7, name: 'a ) S 1 (b', parent: 4, group: 5, session: 6, ticks: 22 });
    expect(row?.startedAt.endsWith('/22')).toBe(true);
  });

  test('a thread of the kernel is told from a process by its flags', () => {
    const rest = ' 1'.repeat(43);
    expect(parseStat(`2 (kthreadd) S 0 0 0 0 -1 2129984${rest}`)?.isKernel).toBe(true);
    expect(parseStat(`2 (sh) S 0 0 0 0 -1 4194368${rest}`)?.isKernel).toBe(false);
  });

  test('ps, where there is no /proc, lists the same process', async () => {
    const child = startForeign('sleep', ['100']);
    const [row] = await until('ps sees it', () => {
      const rows = listByPs(child.pid);
      return rows.length > 0 ? rows : undefined;
    });
    expect(row).toMatchObject({ pid: child.pid, parent: process.pid, name: 'sleep' });
    expect(row?.startedAt).toMatch(/^\w{3} \w{3} \d+ \d\d:\d\d:\d\d \d{4}$/);
    expect(listByPs(2 ** 30)).toEqual([]);
  });
});

test('ps shows the environment of each process behind its arguments', () => {
  const text = '    1 /sbin/launchd\n  501 sh -c sleep 1 HOME=/h ONWARD_ATTEMPT=run.1\n12345 ps\n\n';
  expect([...parseEnvironments(text)]).toEqual([
    [1, '/sbin/launchd'],
    [501, 'sh\0-c\0sleep\x001\0HOME=/h\0ONWARD_ATTEMPT=run.1'],
    [12_345, 'ps'],
  ]);
});

describe('the identity of the host', () => {
  test('is one opaque word that names neither user nor home', () => {
    expect(hostIdentity()).toMatch(/^host-[0-9a-f]{24}$/);
    expect(hostIdentity()).toBe(hostIdentity());
  });

  test('differs for another home, since that is where the sessions of a CLI live', () => {
    const before = hostIdentity();
    const home = process.env['HOME'];
    process.env['HOME'] = '/somewhere/else';
    try {
      expect(hostIdentity()).not.toBe(before);
    } finally {
      process.env['HOME'] = home;
    }
  });
});
