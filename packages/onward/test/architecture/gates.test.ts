import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gates } from '../../../../tools/check/gates.ts';
import { createMiniRepository, miniPackage, type MiniRepository } from './mini-repository.ts';

/** Something that a gate must refuse, in a file that it must name. */
interface Fault {
  readonly what: string;
  readonly gate: string;
  readonly file: string;
  readonly text: string;
  /** What the gate says besides, so that it is known to fail for this reason. */
  readonly says: string;
}

const lines = (count: number, of: (index: number) => string): string =>
  `${Array.from({ length: count }, (_one, index) => of(index)).join('\n')}\n`;

const FAULTS: readonly Fault[] = [
  {
    what: 'a wrong type',
    says: 'TS2322',
    gate: 'types',
    file: 'src/lab/wrong.ts',
    text: 'export const lab: string = 1;\n',
  },
  {
    what: 'a wrong type in a benchmark',
    says: 'TS2322',
    gate: 'types of the benchmarks',
    file: '../../bench/wrong.ts',
    text: 'export const bench: string = 1;\n',
  },
  {
    what: 'an enum',
    says: 'TS1294',
    gate: 'types',
    file: 'src/lab/enum.ts',
    text: 'export enum Lab {\n  one,\n}\n',
  },
  {
    what: 'a type of Node in the kernel',
    says: 'TS2591',
    gate: 'kernel without the types of Node',
    file: 'src/kernel/title.ts',
    text: 'export const journal: string = process.title;\n',
  },
  {
    what: 'a global of the platform in the kernel',
    says: 'TS2304',
    gate: 'kernel without the types of Node',
    file: 'src/kernel/abort.ts',
    text: 'export const journal: AbortSignal | undefined = undefined;\n',
  },
  {
    what: 'a file of 401 lines',
    says: 'eslint(max-lines)',
    gate: 'lint and sizes',
    file: 'src/lab/long.ts',
    text: lines(401, (index) => `export const a${index} = ${index};`),
  },
  {
    what: 'a function of 61 lines',
    says: 'eslint(max-lines-per-function)',
    gate: 'lint and sizes',
    file: 'src/lab/long-function.ts',
    text: `export function long(): void {\n${lines(59, () => '  console.log();')}}\n`.replace(
      '{\n',
      '{\n\n  console.log();\n',
    ),
  },
  {
    what: 'a function of five parameters',
    says: 'eslint(max-params)',
    gate: 'lint and sizes',
    file: 'src/lab/many.ts',
    text: 'export const many = (a: 1, b: 1, c: 1, d: 1, e: 1): number => a + b + c + d + e;\n',
  },
  {
    what: 'a default export',
    says: 'import(no-default-export)',
    gate: 'lint and sizes',
    file: 'src/lab/door.ts',
    text: 'const door = 1;\nexport default door;\n',
  },
  {
    what: 'any',
    says: 'typescript(no-explicit-any)',
    gate: 'lint and sizes',
    file: 'src/lab/some.ts',
    text: 'export const some: any = 1;\n',
  },
  {
    what: 'a promise that nobody waits for',
    says: 'typescript(no-floating-promises)',
    gate: 'lint and sizes',
    file: 'src/lab/adrift.ts',
    text: 'export function drop(adrift: Promise<void>): void {\n  adrift.finally(() => {});\n}\n',
  },
  {
    what: 'a switch that forgets a case',
    says: 'typescript(switch-exhaustiveness-check)',
    gate: 'lint and sizes',
    file: 'src/lab/forgets.ts',
    text: "export function forgets(of: 'a' | 'b'): void {\n  switch (of) {\n    case 'a':\n  }\n}\n",
  },
  {
    what: 'the wall clock, not handed in',
    says: 'eslint(no-restricted-properties)',
    gate: 'lint and sizes',
    file: 'src/supervisor/now.ts',
    text: 'export const now = (): number => Date.now();\n',
  },
  {
    what: 'a timer, not handed in',
    says: 'eslint(no-restricted-globals)',
    gate: 'lint and sizes',
    file: 'src/supervisor/later.ts',
    text: 'export const later = (act: () => void): unknown => setTimeout(act, 1);\n',
  },
  {
    what: 'chance, not handed in',
    says: 'eslint(no-restricted-properties)',
    gate: 'lint and sizes',
    file: 'src/supervisor/chance.ts',
    text: 'export const chance = (): number => Math.random();\n',
  },
  {
    what: 'a file name in capitals',
    says: 'unicorn(filename-case)',
    gate: 'lint and sizes',
    file: 'src/lab/FileName.ts',
    text: 'export const name = 1;\n',
  },
  {
    what: 'another format',
    says: 'Format issues found',
    gate: 'format',
    file: 'src/lab/ugly.ts',
    text: 'export const ugly = "1"\n',
  },
  {
    what: 'an import against the rules',
    says: 'lab: must not import',
    gate: 'import rules',
    file: 'src/lab/index.ts',
    text: "export { journal as lab } from '../kernel/journal.ts';\n",
  },
  {
    what: 'a contract of 101 lines of code',
    says: '101 lines of code',
    gate: 'contracts',
    file: 'src/engines/engine.ts',
    text: lines(101, (index) => `/** Text. */\nexport const a${index} = ${index};\n`),
  },
  {
    what: 'an export that nobody uses',
    says: 'Unused exports (1)',
    gate: 'nothing unused',
    file: 'src/kernel/journal.ts',
    text: 'export const journal = 1;\nexport const useless = 2;\n',
  },
  {
    what: 'a file that nobody uses',
    says: 'Unused files (1)',
    gate: 'nothing unused',
    file: 'src/lab/useless.ts',
    text: 'export const a = 1;\n',
  },
  {
    what: 'a dependency that nobody uses',
    says: 'unbash',
    gate: 'nothing unused',
    file: 'package.json',
    text: JSON.stringify({ ...miniPackage, dependencies: { ...miniPackage.dependencies, unbash: '*' } }),
  },
  {
    what: 'an exported value whose type must be guessed',
    says: 'TS9010',
    gate: 'build',
    file: 'src/lab/index.ts',
    text: 'export const lab = Math.max(1, 2);\n',
  },
];

describe('the gates of the repository', () => {
  let repository: MiniRepository;
  beforeAll(() => {
    repository = createMiniRepository();
  });
  afterAll(() => {
    repository.remove();
  });

  test.each(gates)('$name: holds where nothing is wrong', ({ name }) => {
    const result = repository.run(name);
    expect(result).toEqual({ ok: true, output: result.output });
  });

  test.each([...Map.groupBy(FAULTS, ({ gate }) => gate)])(
    '%s: names the file and the fault of each breach',
    (gate, faults) => {
      const { ok, output } = repository.withFiles(
        Object.fromEntries(faults.map(({ file, text }) => [file, text])),
        gate,
      );
      expect(ok).toBe(false);
      const missed = faults.filter(({ file, says }) => !areTogether(output, file.replace('../../', ''), says));
      expect(missed.map(({ what }) => what)).toEqual([]);
    },
  );

  test('package: refuses a door that leads nowhere', () => {
    const { ok, output } = repository.withFiles(
      { 'package.json': JSON.stringify({ ...miniPackage, exports: './dist/missing.js' }) },
      'package',
    );
    expect(ok).toBe(false);
    expect(output).toContain('missing.js');
  });

  test('are all broken by an example here', () => {
    const broken = new Set([...FAULTS.map(({ gate }) => gate), 'package', 'types of the tools']);
    expect(gates.map(({ name }) => name).filter((name) => !broken.has(name))).toEqual([]);
  });
});

/** True when two texts stand near each other: a gate names the file and the fault in one message. */
function areTogether(output: string, one: string, other: string): boolean {
  return (
    output
      .split(one)
      .slice(1)
      .some((after) => after.slice(0, 300).includes(other)) ||
    output
      .split(other)
      .slice(1)
      .some((after) => after.slice(0, 300).includes(one))
  );
}
