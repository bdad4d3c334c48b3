import { findScenario, scenarios, scriptOf, startModelServer, type Temperament } from '../../lab/index.ts';
import {
  claudeEnvironment,
  codexConfig,
  codexEnvironment,
  describeFault,
  LabError,
  type ModelServer,
} from '../../lab/index.ts';
import { OnwardError } from '../../kernel/error.ts';
import { table } from '../describe-run.ts';
import type { Io } from '../io.ts';

/** `onward lab list`: the situations an agent can be tried in. */
export function labList(io: Io, flags: { readonly json?: boolean }): number {
  if (flags.json === true) for (const scenario of scenarios) io.json(scenario);
  else
    for (const line of table(
      scenarios.map(({ name, what, recoverable }) => [name, recoverable ? 'recoverable' : 'not recoverable', what]),
    ))
      io.out(line);
  return 0;
}

/** The flags of `lab serve` and `lab play`. */
export interface LabFlags {
  readonly port?: string;
  readonly temperament?: string;
  readonly json?: boolean;
}

/**
 * `onward lab serve [NAME]` and `onward lab play NAME`: a model server on loopback that plays a scenario (`healthy` when
 * none is named), until Ctrl-C. Prints how to point an agent at it, then each request.
 */
export async function labServe(io: Io, name: string, flags: LabFlags): Promise<number> {
  return inOurWords(() => serve(io, name, flags));
}

async function serve(io: Io, name: string, flags: LabFlags): Promise<number> {
  const scenario = findScenario(name);
  const temperament = temperamentFrom(flags.temperament);
  const script = scriptOf(scenario, temperament === undefined ? {} : { temperament });
  const port = flags.port === undefined ? {} : { port: portFrom(flags.port) };
  await using server = await startModelServer({ script, ...port });
  if (flags.json === true) io.json({ url: server.url, scenario: scenario.name });
  else explain(io, server, scenario.what, scenario.expectation);
  await follow(io, server, flags.json === true);
  return 0;
}

/** The lab shares no code with the product, so that its errors are not ours: a wrong name or a taken port is no defect. */
async function inOurWords<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    const next = error.code === 'lab.unknown-scenario' ? ['onward lab list'] : error.next;
    throw new OnwardError(error.code.replace('.', '/'), error.message, { next, cause: error });
  }
}

function explain(io: Io, server: ModelServer, what: string, expectation: string): void {
  io.out(`model server at ${server.url}: ${what}`);
  io.out(`what a good agent does: ${expectation}`);
  io.out('\nClaude Code, in a shell of its own, in an empty folder:');
  io.out(`  export CLAUDE_CONFIG_DIR=$(mktemp -d) ${shell(claudeEnvironment(server.url))}`);
  io.out('  onward run -- claude -p "Do the task of the lab." --allowedTools Bash');
  io.out('\nCodex, in a shell of its own, in an empty folder:');
  io.out(`  export CODEX_HOME=$(mktemp -d) ${shell(codexEnvironment())}`);
  io.out(`  cat >"$CODEX_HOME/config.toml" <<'END'\n${codexConfig(server.url).trimEnd()}\nEND`);
  io.out('  onward run -- codex exec -s workspace-write --skip-git-repo-check "Do the task of the lab."');
  io.out('\nonward chat, in an empty folder, over each of three APIs:');
  const task = `"Do the task of the lab." --approve all`;
  for (const line of chatLines(server.url)) io.out(`  ${line} ${task}`);
  io.out('\nCtrl-C ends it. Requests:');
}

/** How a chat reaches the lab: any key will do, and any name of a model. */
function chatLines(url: string): readonly string[] {
  const openai = `OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=lab`;
  return [
    `ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=lab onward chat --model anthropic/lab`,
    `${openai} onward chat --model openai/lab`,
    `${openai} onward chat --model openai-chat/lab`,
  ];
}

function shell(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}

async function follow(io: Io, server: ModelServer, json: boolean): Promise<void> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  let shown = 0;
  while (!stop.signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one request after the other
    await server.until((all) => all.length > shown && all[shown]?.state !== 'open', stop.signal).catch(() => undefined);
    const request = server.requests[shown];
    if (request === undefined || stop.signal.aborted) continue;
    shown += 1;
    const { index, agent, api, status, state, answer, refused } = request;
    const fault = request.fault === null ? null : describeFault(request.fault);
    if (json) io.json({ index, agent, api, status, state, answer, fault, refused });
    else
      io.out(
        `${index} ${api} ${agent}: ${fault ?? refused ?? answer ?? 'answered'} (${status ?? 'no status'}, ${state})`,
      );
  }
  process.off('SIGINT', end).off('SIGTERM', end);
}

function temperamentFrom(text: string | undefined): Temperament | undefined {
  if (text === undefined || text === 'naive' || text === 'reader' || text === 'checker') return text;
  throw new OnwardError('cli/bad-temperament', `A model is naive, reader or checker; ${text} is none of these.`, {
    place: '--temperament',
  });
}

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new OnwardError('cli/bad-port', `A port is a number up to 65535; ${text} is none.`, { place: '--port' });
}
