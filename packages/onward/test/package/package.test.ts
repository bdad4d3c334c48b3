import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const PACKAGE = resolve(import.meta.dirname, '../..');
const MODULES = resolve(PACKAGE, '../../node_modules');
const BIN = join(PACKAGE, 'bin/onward.js');

const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
};

/** What a user writes after `from`: `onward`, `onward/lab`, ... */
const doors = Object.keys(manifest.exports)
  .filter((door) => !door.endsWith('.json'))
  .map((door) => door.replace('.', 'onward'));

describe('the package as it would be published', () => {
  let home: string;
  let files: readonly string[];

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'onward-package-'));
    const env = { ...process.env, PATH: `${join(MODULES, '.bin')}${delimiter}${process.env['PATH']}` };
    const packed = execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', home], {
      cwd: PACKAGE,
      env,
      encoding: 'utf8',
    });
    const [report] = Object.values(JSON.parse(packed) as object) as { filename: string; files: { path: string }[] }[];
    files = report?.files.map(({ path }) => path) ?? [];
    const target = join(home, 'node_modules/onward');
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', join(home, report?.filename ?? ''), '-C', target, '--strip-components=1']);
    for (const name of Object.keys(manifest.dependencies)) {
      mkdirSync(dirname(join(home, 'node_modules', name)), { recursive: true });
      symlinkSync(join(MODULES, name), join(home, 'node_modules', name));
    }
  });
  afterAll(() => {
    rmSync(home, { recursive: true });
  });

  test('holds the program, its license and nothing that only we need', () => {
    expect(files).toEqual(expect.arrayContaining(['package.json', 'LICENSE', 'bin/onward.js', 'dist/index.js']));
    const others = files.filter((path) => !/^(package\.json|LICENSE|README\.md|bin\/onward\.js|dist\/.+)$/.test(path));
    expect(others).toEqual([]);
    expect(files.filter((path) => /tsbuildinfo|\.test\.|transcripts/.test(path))).toEqual([]);
  });

  test.each(doors)('%s can be imported', (door) => {
    const script = `import * as door from '${door}'; console.log(Object.keys(door).length)`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: home,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(Number(stdout)).toBeGreaterThan(0);
  });

  test('what lies behind no door cannot be imported', () => {
    const script = `await import('onward/dist/kernel/error.js')`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: home,
      encoding: 'utf8',
    });
    expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  test('its types are found by a program that checks strictly', () => {
    const lines = doors.map((door, index) => `import * as door${index} from '${door}';\nvoid door${index};`);
    writeFileSync(join(home, 'user.ts'), `${lines.join('\n')}\n`);
    writeFileSync(join(home, 'package.json'), '{ "type": "module" }');
    symlinkSync(join(MODULES, '@types'), join(home, 'node_modules/@types'));
    const args = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', 'node', 'user.ts'];
    const { status, stdout } = spawnSync(join(MODULES, '.bin/tsc'), args, { cwd: home, encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });
});

/** Node programs of this machine that are too old for Onward. */
function oldNodes(): readonly string[] {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  const programs = [...new Set(folders.map((folder) => join(folder, 'node')))].filter((path) => existsSync(path));
  return programs.filter((program) => {
    const { stdout } = spawnSync(program, ['-p', 'process.versions.node'], { encoding: 'utf8' });
    const [major = 99, minor = 0] = stdout.split('.').map(Number);
    return major < 22 || (major === 22 && minor < 13);
  });
}

/** Runs the command as if Node had another version. */
function runAs(version: string): { readonly status: number | null; readonly stderr: string } {
  const pretend = `Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, BIN, '--version'];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

const SENTENCE = /^onward needs Node 22\.13 or newer; this is v\d+\.\d+\.\d+\. [^\n]+\n$/;

describe('the command on an old Node', () => {
  const [old] = oldNodes();

  test.skipIf(old === undefined)(
    'says so in one sentence and exits 2 (skipped where no Node under 22.13 is installed)',
    () => {
      const { status, stdout, stderr } = spawnSync(old ?? '', [BIN, 'demo'], { encoding: 'utf8' });
      expect(stderr).toMatch(SENTENCE);
      expect(stdout).toBe('');
      expect(status).toBe(2);
    },
  );

  test.each(['18.20.0', '20.20.2', '22.12.9'])('refuses %s', (version) => {
    const { status, stderr } = runAs(version);
    expect(stderr).toMatch(SENTENCE);
    expect(status).toBe(2);
  });

  test.each(['22.13.0', '23.0.0', '24.22.3'])('does not refuse %s', (version) => {
    expect(runAs(version).stderr).not.toContain('onward needs Node');
  });

  test('drops the warning of Node 22 about its SQLite, and no other', () => {
    const warnings = ['SQLite is an experimental feature', 'Another is, too'];
    const later = `setImmediate(() => { for (const text of ${JSON.stringify(warnings)}) process.emitWarning(text, 'ExperimentalWarning'); });`;
    const args = ['--import', `data:text/javascript,${encodeURIComponent(later)}`, BIN, '--version'];
    const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toContain('Another is, too');
    expect(stderr).not.toContain('SQLite');
  });
});
