/** One thing that must hold before anything is merged. */
export interface Gate {
  readonly name: string;
  /** Found by the path that `npm run` sets; run in the root of the repository. */
  readonly program: string;
  readonly args: readonly string[];
}

/** All gates, in the order in which `npm run check` runs them. */
export const gates: readonly Gate[] = [
  { name: 'types', program: 'tsc', args: ['-p', 'packages/onward/tsconfig.json'] },
  { name: 'kernel without the types of Node', program: 'tsc', args: ['-p', 'packages/onward/tsconfig.kernel.json'] },
  { name: 'types of the tools', program: 'tsc', args: ['-p', 'tools/tsconfig.json'] },
  { name: 'lint and sizes', program: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
  { name: 'format', program: 'oxfmt', args: ['--check'] },
  { name: 'import rules', program: 'node', args: ['tools/check/check-imports.ts'] },
  { name: 'contracts', program: 'node', args: ['tools/check/check-contracts.ts'] },
  // The next ones look at what was built.
  { name: 'build', program: 'tsc', args: ['-p', 'packages/onward/tsconfig.build.json'] },
  { name: 'types of the benchmarks', program: 'tsc', args: ['-p', 'bench/tsconfig.json'] },
  { name: 'nothing unused', program: 'knip', args: [] },
  { name: 'package', program: 'publint', args: ['--strict', 'packages/onward'] },
];
