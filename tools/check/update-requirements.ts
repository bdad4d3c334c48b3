import { readFileSync, writeFileSync } from 'node:fs';
import { namedIds, requirementsOf, type Requirements } from './requirement-ids.ts';

// Usage: npm run requirements. Writes down which ids have tests by now and which required ones have none.

const path = 'packages/onward/test/requirements.json';
const { requiredIds } = JSON.parse(readFileSync(path, 'utf8')) as Requirements;
const requirements = requirementsOf(requiredIds, namedIds('packages/onward/test'));
writeFileSync(path, `${JSON.stringify(requirements, null, 2)}\n`);
console.log(`requirements: ${requirements.tested.length} tested, pending: ${requirements.pending.join(' ') || 'none'}`);
