/** Makes command lines that find the same journal as this one does: with `--journal`, if that is how it was named here. */
export function hintFor(argv: readonly string[]): (words: string) => string {
  const journal = journalIn(argv);
  return (words) => `onward ${words}${journal === undefined ? '' : ` --journal ${quote(journal)}`}`;
}

function journalIn(argv: readonly string[]): string | undefined {
  const own = ownArguments(argv);
  const at = own.findLastIndex((word) => word === '--journal' || word.startsWith('--journal='));
  if (at < 0) return undefined;
  const word = own[at] ?? '';
  return word === '--journal' ? own[at + 1] : word.slice('--journal='.length);
}

/** The arguments that are ours: everything before `--`. */
export function ownArguments(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end < 0 ? argv : argv.slice(0, end);
}

/** For a POSIX shell. Of our own, since every start of the command line would load the whole supervisor for its `quote`. */
function quote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
