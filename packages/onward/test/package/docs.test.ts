import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { runProgram } from '../../src/cli/program.ts';
import { installFakeCli, overloadedThenWell } from '../../src/lab/index.ts';
import { runEventTable } from '../../src/supervisor/run-events.ts';
import { createFakeIo } from '../unit/cli/support/fake-io.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
const ROOT = resolve(PACKAGE, '../..');
const MODULES = join(ROOT, 'node_modules');

/** All pages for readers, by their path from the root. */
const pages: Readonly<Record<string, string>> = Object.fromEntries(
  ['README.md', 'AGENTS.md', 'CHANGELOG.md', ...markdownBelow('docs')].map((path) => [
    path,
    readFileSync(join(ROOT, path), 'utf8'),
  ]),
);
const readme = pages['README.md'] ?? '';

/** The pages that tell users what to type. */
const manual = Object.entries(pages).filter(([path]) => path === 'README.md' || path.startsWith('docs/guides/'));

function markdownBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

interface Block {
  readonly page: string;
  readonly code: string;
}

function blocks(language: string): readonly Block[] {
  const fence = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return manual.flatMap(([page, text]) => [...text.matchAll(fence)].map(([, code = '']) => ({ page, code })));
}

/** The rows of the table in a text whose head begins like this, cell by cell. */
function tableRows(text: string, head: string): readonly (readonly string[])[] {
  const lines = text.slice(text.indexOf(`\n| ${head}`) + 1).split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(2, end < 0 ? undefined : end).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** `onward run --flag`, `onward lab list` and so on, wherever a page has them in code. */
function commandLines(text: string): readonly string[] {
  const fenced = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? '');
  const inline = [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');
  const lines = [...fenced.flatMap((code) => code.split('\n')), ...inline];
  return lines.flatMap((line) => line.split(/(?=\bonward [a-z-])/).filter((part) => /^onward [a-z-]/.test(part)));
}

describe('the manual', () => {
  test('has the exit table as it is', () => {
    const rows = tableRows(readme, 'code').map(([code, meaning]) => [Number(code), meaning]);
    expect(rows).toEqual(Object.values(exitCodes).map(({ code, meaning }) => [code, meaning]));
  });

  test('says of each exit status that can be resumed that it can', () => {
    expect(readme).toContain('After 3, 4, 5, 75, 130 and 143 the run can go on');
  });

  test('lists every type of event, and none that there is not', () => {
    const rows = tableRows(pages['docs/guides/events.md'] ?? '', 'type');
    const listed = rows.flatMap(([types = '']) => [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => type ?? ''));
    expect(new Set(listed).size).toBe(listed.length);
    expect(new Set(listed)).toEqual(new Set([...Object.keys(runEventTable), 'delta', 'notice']));
  });

  test('names only commands and flags that the help knows', async () => {
    const named = manual.flatMap(([page, text]) => commandLines(text).map((line) => ({ page, line })));
    expect(named.length).toBeGreaterThan(15);
    for (const { page, line } of named) {
      const own = line.split(/ -- | {2,}/)[0] ?? '';
      const path = /^onward ((?:(?:lab|session|acp) )?[a-z-]+)/.exec(own)?.[1] ?? '';
      const io = createFakeIo();
      expect(await runProgram(io, [...path.split(' '), '--help'], '0'), `${page}: ${line}`).toBe(0);
      const help = io.outLines.join('\n');
      expect(help, `${page}: ${line}`).toContain(`Usage: onward ${path}`);
      for (const [flag] of own.matchAll(/(?<=[\s[])--?[a-z][a-z-]*/g))
        expect(help, `${page}: ${line}`).toMatch(new RegExp(`(^| )${flag}\\b`, 'm'));
    }
  });

  test('has every option of run in the table of options', async () => {
    const guide = pages['docs/guides/supervise.md'] ?? '';
    const listed = tableRows(guide, 'option').flatMap(([options = '']) => options.match(/--?[a-z][a-z-]*/g) ?? []);
    const io = createFakeIo();
    await runProgram(io, ['run', '--help'], '0');
    const known = [...io.outLines.join('\n').matchAll(/^ {2}(--?[a-z][a-z-]*)/gm)].map(([, flag]) => flag);
    expect(known.length).toBeGreaterThan(10);
    expect(known.filter((flag) => flag !== '--agent' && !listed.includes(flag ?? ''))).toEqual([]);
  });

  test.each(Object.keys(pages))('%s has no link that leads nowhere', (page) => {
    const links = [...(pages[page] ?? '').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target]) => target ?? '');
    // The page of figures comes with the first measurement on a quiet machine.
    const local = links.filter((target) => !/^[a-z]+:/.test(target));
    const broken = local.filter((target) => !existsSync(resolve(ROOT, dirname(page), target)));
    expect(broken).toEqual([]);
  });
});

describe('the examples in TypeScript', () => {
  const examples = blocks('ts');
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'onward-docs-'));
    for (const name of ['node_modules', 'home', 'bin', 'work']) mkdirSync(join(folder, name));
    symlinkSync(PACKAGE, join(folder, 'node_modules/onward'));
    for (const name of ['@types', '@ai-sdk', '@opentelemetry', 'ai', 'zod'])
      symlinkSync(join(MODULES, name), join(folder, 'node_modules', name));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    for (const [index, { code }] of examples.entries()) writeFileSync(join(folder, `example-${index}.ts`), code);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('type-check in a strict project', () => {
    expect(examples.map(({ page }) => page)).toEqual(expect.arrayContaining(['README.md', 'docs/guides/events.md']));
    const files = examples.map((_, index) => `example-${index}.ts`);
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext'];
    const argv = [...options, '--lib', 'esnext', '--types', 'node', '--noUnusedLocals', ...files];
    const { status, stdout } = spawnSync(join(MODULES, '.bin/tsc'), argv, { cwd: folder, encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  test('the one of the README is about twelve lines, and keeps an agent going through an overload', () => {
    const example = examples.find(({ page }) => page === 'README.md')?.code ?? '';
    expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(13);
    installFakeCli({ dir: join(folder, 'bin'), name: 'claude', play: overloadedThenWell(1) });
    const quick = example.replace('[10_000, 20_000, 60_000]', '[10, 20, 60]');
    expect(quick).not.toBe(example);
    writeFileSync(join(folder, 'work', 'quick.ts'), quick);
    const PATH = [join(folder, 'bin'), process.env['PATH']].join(delimiter);
    const env = { PATH, HOME: join(folder, 'home'), XDG_STATE_HOME: join(folder, 'home/state') };
    const run = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'quick.ts'], {
      cwd: join(folder, 'work'),
      env,
      encoding: 'utf8',
      timeout: 15_000,
    });
    expect(run.stderr).toBe('attempt 1 failed; retry: true\n');
    expect(run.stdout).toBe('The line is in effects.log.\n');
    expect(run.status).toBe(0);
    expect(readFileSync(join(folder, 'work', 'effects.log'), 'utf8')).toBe('one\n');
  });

  test('the one of the lab serves a scripted model', () => {
    const index = examples.findIndex(({ page }) => page === 'docs/guides/lab.md');
    const file = join(folder, `example-${index}.ts`);
    const out = execFileSync(process.execPath, [relative(folder, file)], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 15_000,
    });
    expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+ 0\n$/);
  });
});
