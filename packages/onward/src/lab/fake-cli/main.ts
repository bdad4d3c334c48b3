import { enableCompileCache } from 'node:module';

// The program behind an installed stand-in: `main NAME PLAY STATE ARGS...`. It is started often, and compiling is most of
// what a start costs; so this file is only the switch for the cache, and what it loads afterwards comes from there.
enableCompileCache();
await import('./program.ts');
