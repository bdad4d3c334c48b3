import { parts } from './parts.ts';

// Usage: node bench/one-part.ts NAME ROUNDS. Prints the rows of one part as JSON.
const [name = '', rounds = '7'] = process.argv.slice(2);
const part = parts[name];
if (part === undefined) throw new Error(`there is no part ${name}: ${Object.keys(parts).join(', ')}`);
console.log(JSON.stringify(await part(Number(rounds))));
