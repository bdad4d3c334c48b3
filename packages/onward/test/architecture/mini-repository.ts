import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { gates } from '../../../../tools/check/gates.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');

/** What the copy takes from the real repository: all that says how to check, nothing that is checked. */
const COPIED = [
  '.gitignore',
  '.oxlintrc.json',
  '.oxfmtrc.json',
  'knip.json',
  'tsconfig.base.json',
  'tools/check',
  'tools/tsconfig.json',
  'bench/tsconfig.json',
  'packages/onward/tsconfig.json',
  'packages/onward/tsconfig.build.json',
  'packages/onward/tsconfig.kernel.json',
  'packages/onward/LICENSE',
  'packages/onward/bin',
];

/** Its own manifests, so that no change of the real ones hides or feigns a fault. */
const WORKSPACE = {
  name: 'mini',
  private: true,
  type: 'module',
  workspaces: ['packages/onward'],
  scripts: { check: 'node tools/check/main.ts', requirements: 'node tools/check/update-requirements.ts' },
  devDependencies: Object.fromEntries(
    ['@types/node', 'fast-check', 'typescript', 'vite', 'vitest'].map((name) => [name, '*']),
  ),
};

/** The manifest of the package in the small repository. */
export const miniPackage: Readonly<Record<string, unknown>> & { readonly dependencies: object } = {
  name: 'onward',
  version: '1.0.0',
  license: 'MIT',
  type: 'module',
  bin: { onward: 'bin/onward.js' },
  files: ['bin', 'dist'],
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  dependencies: { commander: '*' },
};

/** A small program in which every gate holds. */
const PROGRAM: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify(miniPackage),
  '../../bench/one.ts': 'export const one = 1;\n',
  'src/index.ts': "export { journal } from './kernel/journal.ts';\n",
  'src/kernel/journal.ts': 'export const journal = 1;\n',
  'src/cli/main.ts': "import 'commander';\n\nexport const main = 1;\n",
  'test/one.test.ts': "import 'fast-check';\nimport 'vitest';\n",
};

/** What a gate said. */
export interface GateResult {
  readonly ok: boolean;
  readonly output: string;
}

/** A small repository with the real gates. */
export interface MiniRepository {
  /** Writes files of packages/onward (path to text), runs the gate, and puts things back. */
  withFiles(files: Readonly<Record<string, string>>, gate: string): GateResult;
  run(gate: string): GateResult;
  remove(): void;
}

/** Makes a small repository in which every gate holds, so that a test can break one thing. */
export function createMiniRepository(): MiniRepository {
  const root = mkdtempSync(join(tmpdir(), 'onward-gates-'));
  const at = (path: string): string => join(root, 'packages/onward', path);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  };
  for (const path of COPIED) cpSync(join(ROOT, path), join(root, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), JSON.stringify(WORKSPACE));
  for (const [path, text] of Object.entries(PROGRAM)) write(path, text);
  // The copied files may be in the middle of a change, and some gates look at what was built.
  spawnSync('oxfmt', { cwd: root, env: environment() });
  runGate(root, 'build');
  return {
    run: (gate) => runGate(root, gate),
    withFiles: (files, gate) => {
      const before = Object.keys(files).map(
        (path) => [path, existsSync(at(path)) ? readFileSync(at(path), 'utf8') : undefined] as const,
      );
      for (const [path, text] of Object.entries(files)) write(path, text);
      const result = runGate(root, gate);
      for (const [path, text] of before) {
        if (text === undefined) rmSync(at(path));
        else write(path, text);
      }
      return result;
    },
    remove: () => rmSync(root, { recursive: true }),
  };
}

function runGate(root: string, name: string): GateResult {
  const gate = gates.find((one) => one.name === name);
  if (gate === undefined) throw new Error(`There is no gate "${name}".`);
  const { status, stdout, stderr } = spawnSync(gate.program, gate.args, {
    cwd: root,
    encoding: 'utf8',
    env: environment(),
    timeout: 60_000,
  });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}

function environment(): NodeJS.ProcessEnv {
  const path = `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  return { ...process.env, PATH: path, NO_COLOR: '1', FORCE_COLOR: '0' };
}
