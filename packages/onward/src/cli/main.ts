import { readFileSync } from 'node:fs';

/**
 * The command `onward`. Sets the exit status; never throws. Everything but `--version` is loaded when it is needed, since
 * a command line that starts slowly is not used.
 */
export async function main(argv: readonly string[]): Promise<void> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    process.stdout.write(`${version()}\n`);
    return;
  }
  const { start } = await import('./start.ts');
  await start(argv, version());
}

/** The version of this package. */
function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  const { version: value } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return value;
}
