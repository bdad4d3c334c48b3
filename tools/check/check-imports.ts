import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { findViolations } from './find-violations.ts';
import { importRules } from './import-rules.ts';

// Usage: node tools/check/check-imports.ts [SOURCE_FOLDER]. Exits 1 and names each file and line that breaks a rule.

const folder = process.argv[2] ?? 'packages/onward/src';
const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
const sources = new Map(
  paths.map((path) => [path.split(sep).join('/'), readFileSync(join(folder, path), 'utf8')] as const),
);
if (sources.size === 0) {
  console.error(`There is no source file in ${folder}.`);
  process.exit(1);
}
const violations = findViolations(sources, importRules);
for (const { file, line, rule, message } of violations) {
  console.error(`${relative('.', join(folder, file))}:${line}  ${rule}: ${message}`);
}
console.log(`imports: ${sources.size} files, ${violations.length} violations`);
process.exit(violations.length === 0 ? 0 : 1);
