import { readFileSync } from 'node:fs';
import { exitCodes } from './exit-codes.ts';
import { processIo, reportError } from './io.ts';

/**
 * The command `onward`. Sets the exit status; never throws. Everything but `--version` is loaded when it is needed, since
 * a command line that starts slowly is not used.
 */
export async function main(argv: readonly string[]): Promise<void> {
  const io = processIo();
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    io.out(version());
    return;
  }
  try {
    const { runProgram } = await import('./program.ts');
    process.exitCode = await runProgram(io, argv, version());
  } catch (error) {
    const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
    process.exitCode = reportError(io, error, own.includes('--json'));
  }
}

/** The version of this package. */
function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  const { version: value } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return value;
}

/** Re-exported for the test that compares the table in the README with the truth. */
export { exitCodes };
