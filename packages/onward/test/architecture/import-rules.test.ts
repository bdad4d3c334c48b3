import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findViolations } from '../../../../tools/check/find-violations.ts';
import { contracts, importRules } from '../../../../tools/check/import-rules.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const SRC = join(ROOT, 'packages/onward/src');
const CHECK = join(ROOT, 'tools/check/check-imports.ts');

/** A file that breaks a rule, by what it imports; the files it names come into being with it. */
interface Breach {
  readonly rule: string;
  readonly file: string;
  readonly imports: string;
  /** More files that are needed, path to text. */
  readonly also?: Readonly<Record<string, string>>;
}

const BREACHES: readonly Breach[] = [
  { rule: 'kernel', file: 'kernel/decide.ts', imports: '../stores/rules.ts' },
  { rule: 'kernel', file: 'kernel/decide.ts', imports: 'node:crypto' },
  { rule: 'store', file: 'stores/sqlite/index.ts', imports: '../memory/index.ts' },
  { rule: 'store', file: 'stores/memory/index.ts', imports: '../../processes/index.ts' },
  { rule: 'stores', file: 'stores/rules.ts', imports: './memory/index.ts' },
  { rule: 'engine', file: 'engines/in-process/index.ts', imports: '../../stores/memory/index.ts' },
  { rule: 'engine', file: 'engines/in-process/index.ts', imports: '../restate/index.ts' },
  { rule: 'engines', file: 'engines/engine.ts', imports: './in-process/index.ts' },
  { rule: 'processes', file: 'processes/index.ts', imports: '../supervisor/index.ts' },
  { rule: 'effects', file: 'effects/index.ts', imports: '../processes/index.ts' },
  { rule: 'model', file: 'models/ai-sdk/index.ts', imports: '../other/index.ts' },
  { rule: 'models', file: 'models/model.ts', imports: './ai-sdk/index.ts' },
  { rule: 'plugin', file: 'agent/plugins/goal/index.ts', imports: '../compaction/index.ts' },
  { rule: 'plugin', file: 'agent/plugins/goal/index.ts', imports: '../../loop.ts' },
  { rule: 'agent', file: 'agent/loop.ts', imports: '../models/ai-sdk/index.ts' },
  { rule: 'agent', file: 'agent/loop.ts', imports: './plugins/goal/index.ts' },
  { rule: 'adapter', file: 'supervisor/adapters/codex/index.ts', imports: '../claude/index.ts' },
  { rule: 'adapter', file: 'supervisor/adapters/codex/index.ts', imports: '../../run-state.ts' },
  { rule: 'adapter', file: 'supervisor/adapters/codex/index.ts', imports: '../../../processes/index.ts' },
  { rule: 'library', file: 'library/supervise.ts', imports: '../lab/index.ts' },
  { rule: 'supervisor', file: 'supervisor/index.ts', imports: '../stores/memory/index.ts' },
  { rule: 'supervisor', file: 'supervisor/index.ts', imports: '../library/supervise.ts' },
  { rule: 'supervisor', file: 'supervisor/supervise.ts', imports: './adapters/claude/index.ts' },
  { rule: 'supervisor', file: 'supervisor/supervise.ts', imports: '../engines/engine.ts' },
  { rule: 'handler', file: 'orchestrator/handlers/cli/index.ts', imports: '../agent/index.ts' },
  { rule: 'orchestrator', file: 'orchestrator/flow.ts', imports: '../supervisor/index.ts' },
  { rule: 'session-check', file: 'session-check/index.ts', imports: '../supervisor/index.ts' },
  { rule: 'acp', file: 'acp/index.ts', imports: '../mcp/index.ts' },
  { rule: 'mcp', file: 'mcp/index.ts', imports: '../stores/memory/index.ts' },
  { rule: 'ai-sdk', file: 'ai-sdk/index.ts', imports: '../engines/index.ts' },
  { rule: 'web', file: 'web/index.ts', imports: '../engines/engine.ts' },
  { rule: 'telemetry', file: 'telemetry/index.ts', imports: '../supervisor/index.ts' },
  { rule: 'telemetry', file: 'telemetry/index.ts', imports: 'node:perf_hooks' },
  { rule: 'lab', file: 'lab/index.ts', imports: '../kernel/json.ts' },
  { rule: 'testing', file: 'testing/index.ts', imports: '../engines/in-process/index.ts' },
  { rule: 'root', file: 'index.ts', imports: './cli/main.ts' },
  { rule: 'doors', file: 'cli/main.ts', imports: '../stores/memory/stream.ts' },
  { rule: 'doors', file: 'supervisor/supervise.ts', imports: '../processes/sweep.ts' },
  { rule: 'starts-processes', file: 'supervisor/supervise.ts', imports: 'node:child_process' },
  { rule: 'starts-processes', file: 'cli/main.ts', imports: 'node:child_process' },
  { rule: 'forks-workers', file: 'cli/main.ts', imports: 'node:cluster' },
  { rule: 'opens-sqlite', file: 'stores/memory/stream.ts', imports: 'node:sqlite' },
  { rule: 'opens-sqlite', file: 'processes/sweep.ts', imports: 'node:sqlite' },
  { rule: 'parses-arguments', file: 'lab/index.ts', imports: 'commander' },
  { rule: 'asks-on-terminal', file: 'supervisor/index.ts', imports: '@clack/prompts' },
  { rule: 'opens-postgres', file: 'stores/sqlite/index.ts', imports: 'postgres' },
  { rule: 'calls-restate', file: 'engines/in-process/index.ts', imports: '@restatedev/restate-sdk/fetch' },
  { rule: 'speaks-acp', file: 'supervisor/index.ts', imports: '@agentclientprotocol/sdk' },
  { rule: 'speaks-mcp', file: 'acp/index.ts', imports: '@modelcontextprotocol/server' },
  { rule: 'speaks-ai-sdk', file: 'agent/loop.ts', imports: '@ai-sdk/provider' },
  { rule: 'speaks-otel', file: 'agent/loop.ts', imports: '@opentelemetry/api' },
  { rule: 'serves-web', file: 'cli/main.ts', imports: 'hono' },
  { rule: 'serves-web-on-node', file: 'cli/main.ts', imports: '@hono/node-server/serve-static' },
  { rule: 'reads-yaml', file: 'supervisor/index.ts', imports: 'yaml' },
  { rule: 'checks-shapes', file: 'stores/sqlite/index.ts', imports: 'zod' },
  { rule: 'known-package', file: 'cli/main.ts', imports: 'left-pad' },
  { rule: 'node-prefix', file: 'supervisor/index.ts', imports: 'child_process' },
  { rule: 'exists', file: 'cli/main.ts', imports: './missing.ts' },
  { rule: 'placed', file: 'utils/index.ts', imports: '../kernel/json.ts' },
  {
    rule: 'portable-root',
    file: 'index.ts',
    imports: './supervisor/run-view.ts',
    also: { 'supervisor/run-view.ts': `import 'node:fs';` },
  },
  { rule: 'portable-memory-store', file: 'stores/memory/index.ts', imports: 'node:fs' },
  {
    rule: 'portable-engine',
    file: 'engines/in-process/index.ts',
    imports: './engine.ts',
    also: {
      'engines/in-process/engine.ts': `export { a } from './more.ts';`,
      'engines/in-process/more.ts': `import 'node:fs';`,
    },
  },
  {
    rule: 'cycles',
    file: 'kernel/a.ts',
    imports: './b.ts',
    also: { 'kernel/b.ts': `import type { C } from './c.ts';`, 'kernel/c.ts': `export type D = import('./a.ts').A;` },
  },
];

/** Rules about how an import is written, each broken by a text. */
const FORMS: readonly (readonly [rule: string, text: string])[] = [
  ['by-name', `export * from './json.ts';`],
  ['readable', 'export const load = (name: string): unknown => import(name);'],
  ['readable', `export const fs = process.getBuiltinModule('fs');`],
  ['readable', `export const fs = require('fs');`],
];

function sourcesOf({ file, imports, also }: Breach, write: (specifier: string) => string): Map<string, string> {
  const target = imports.startsWith('.') && !imports.includes('missing') ? join(file, '..', imports) : undefined;
  return new Map([
    ...(target === undefined ? [] : [[target, 'export {};'] as const]),
    ...Object.entries(also ?? {}),
    [file, write(imports)],
  ]);
}

const WAYS: Readonly<Record<string, (specifier: string) => string>> = {
  import: (to) => `import { a } from '${to}';`,
  'import type': (to) => `import type { A } from "${to}";`,
  'a bare import': (to) => `import '${to}'`,
  'export from': (to) => `export { a } from '${to}';`,
  'export type from': (to) => `export type { A } from '${to}';`,
  'import()': (to) => `export const a = await import('${to}');`,
  'a type in place': (to) => `export type A = import('${to}').A;`,
  'typeof in place': (to) => `export type A = typeof import('${to}');`,
};

describe('the import rules', () => {
  test('are kept by this code base', () => {
    expect(execFileSync(process.execPath, [CHECK], { cwd: ROOT, encoding: 'utf8' })).toMatch(/, 0 violations$/m);
  });

  test.each(BREACHES)('$rule: $file must not import $imports', (breach) => {
    const sources = sourcesOf(breach, (to) => `// first line\nimport { a } from '${to}';`);
    const found = findViolations(sources, importRules);
    const line = breach.rule === 'placed' ? 1 : 2;
    expect(found.filter(({ file }) => file === breach.file)).toContainEqual(
      expect.objectContaining({ rule: breach.rule, file: breach.file, line }),
    );
  });

  test.each(importRules.folders.filter(({ id }) => id !== 'cli'))('$id: nobody imports the cli', ({ id, files }) => {
    const file = files.replaceAll(':one', 'one').replace(/\*+$/, 'x.ts');
    const sources = new Map([
      ['cli/main.ts', 'export {};'],
      [file, `import { main } from '${relative(dirname(file), 'cli/main.ts').replace(/^(?!\.)/, './')}';`],
    ]);
    expect(findViolations(sources, importRules)).toContainEqual(expect.objectContaining({ rule: id, file }));
  });

  test.each(Object.entries(WAYS))('see %s', (_way, write) => {
    const breaches = BREACHES.filter(
      ({ rule }) => !['placed', 'exists'].includes(rule) && !rule.startsWith('portable'),
    );
    for (const breach of breaches) {
      const found = findViolations(sourcesOf(breach, write), importRules).map(({ file }) => file);
      expect(found, `${breach.file} imports ${breach.imports}`).toContain(breach.file);
    }
  });

  test.each(FORMS)('%s: %s', (rule, text) => {
    const sources = new Map([
      ['kernel/json.ts', 'export {};'],
      ['kernel/a.ts', text],
    ]);
    expect(findViolations(sources, importRules)).toEqual([expect.objectContaining({ rule, file: 'kernel/a.ts' })]);
  });

  test('do not take a type for something that runs', () => {
    const sources = new Map([
      ['index.ts', `import type { View } from './supervisor/run-view.ts';`],
      ['supervisor/run-view.ts', `import 'node:fs';`],
    ]);
    expect(findViolations(sources, importRules)).toEqual([]);
  });

  test('tell of a ring once, and not in a file that only leads to it', () => {
    const sources = new Map([
      ['kernel/a.ts', `import './b.ts';`],
      ['kernel/b.ts', `import './c.ts';`],
      ['kernel/c.ts', `import './b.ts';`],
    ]);
    expect(findViolations(sources, importRules)).toEqual([
      expect.objectContaining({ rule: 'cycles', file: 'kernel/b.ts' }),
    ]);
  });

  test('do not take text and comments for imports', () => {
    const sources = new Map([['kernel/a.ts', `// import 'node:fs';\nexport const text = "import 'node:fs'";`]]);
    expect(findViolations(sources, importRules)).toEqual([]);
  });

  test('are broken by an example here, each of them', () => {
    const { folders, modules, portable } = importRules;
    const ids = [...folders, ...modules, ...portable].map(({ id }) => id).filter((id) => id !== 'cli');
    const others = ['doors', 'known-package', 'node-prefix', 'exists', 'placed', 'cycles'];
    expect([...new Set(BREACHES.map(({ rule }) => rule))].toSorted()).toEqual([...ids, ...others].toSorted());
  });

  test('make the gate fail, with the file and the line', () => {
    const copy = mkdtempSync(join(tmpdir(), 'onward-imports-'));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(SRC, copy, { recursive: true });
    writeFileSync(join(copy, 'kernel/broken.ts'), `\nimport { spawn } from 'node:child_process';\nexport { spawn };\n`);
    const result = spawnSync(process.execPath, [CHECK, copy], { cwd: ROOT, encoding: 'utf8' });
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/kernel\/broken\.ts:2 {2}kernel: must not import node:child_process/);
  });

  test('fail for a folder without sources, since a check of nothing proves nothing', () => {
    const empty = mkdtempSync(join(tmpdir(), 'onward-imports-'));
    onTestFinished(() => rmSync(empty, { recursive: true }));
    expect(spawnSync(process.execPath, [CHECK, empty], { cwd: ROOT }).status).toBe(1);
  });

  test('know every contract file as a door', () => {
    expect(importRules.doors).toEqual(expect.arrayContaining([...contracts]));
  });
});
