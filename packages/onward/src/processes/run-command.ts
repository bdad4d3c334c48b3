import { execFile } from 'node:child_process';

/** How a short helper command ended; `undefined` as code when it could not be started, ran too long or said too much. */
export interface CommandResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A short command that is waited for: `agent --version`, `git status`. Never for agents. */
export interface CommandOptions {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** ms; then it is killed. */
  readonly timeoutMs: number;
  /** Most bytes of output; more ends it. Default 16 MiB. */
  readonly maxBytes?: number;
}

/** Runs a command without a shell and without input, and waits for it. Never rejects. */
export function runCommand({
  argv,
  cwd,
  env,
  timeoutMs,
  maxBytes = 16 * 1024 * 1024,
}: CommandOptions): Promise<CommandResult> {
  const [program, ...args] = argv;
  return new Promise((resolve) => {
    const options = {
      cwd,
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: maxBytes,
      encoding: 'utf8',
    } as const;
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}
