/** One line of Codex's stream, as an object, as codex-cli 0.171.0 prints it. */
export type Line = { readonly [name: string]: unknown };

/** The version the stand-in says it is. */
export const codexVersion = '0.171.0';

/** A shell command as Codex shows it. */
export function shownCommand(command: string): string {
  return `/bin/bash -lc ${/^[\w./:=-]+$/.test(command) ? command : `'${command.replaceAll("'", `'"'"'`)}'`}`;
}

/** A shell command that has begun (`outcome` absent) or ended. */
export function commandItem(
  id: string,
  command: string,
  outcome?: { readonly output: string; readonly code: number },
): Line {
  const status = outcome === undefined ? 'in_progress' : outcome.code === 0 ? 'completed' : 'failed';
  return {
    id,
    type: 'command_execution',
    command: shownCommand(command),
    aggregated_output: outcome?.output ?? '',
    exit_code: outcome?.code ?? null,
    status,
  };
}

/** The usage in the closing line. */
export function usageOf(input: number, output: number): Line {
  return {
    input_tokens: input,
    cached_input_tokens: 0,
    cache_write_input_tokens: 0,
    output_tokens: output,
    reasoning_output_tokens: 0,
  };
}
