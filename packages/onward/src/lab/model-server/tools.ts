import type { Json, JsonObject } from './json.ts';
import { asList, asObject, asText } from './json.ts';
import { sampleOf } from './sample.ts';
import type { ToolCall } from './turn.ts';

/** A tool that a request offers: its name and the JSON schema of its arguments. */
export interface ToolSpec {
  readonly name: string;
  readonly schema: JsonObject;
  readonly namespace?: string;
  /** Takes plain text instead of arguments. */
  readonly takesText?: boolean;
}

/** Names of shell tools in the agents we know, in order of preference. */
const SHELL_NAMES = [
  'Bash',
  'exec_command',
  'shell',
  'local_shell',
  'run_shell_command',
  'bash',
  'shell_command',
  'terminal',
];
/** Codex offers newer models one tool that runs JavaScript, which reaches the shell as `tools.exec_command`. */
const SCRIPT_NAME = 'exec';
/** Names of the tool that starts a subagent. */
const AGENT_NAMES = ['Agent', 'Task', 'task', 'agent'];
/** Names under which a shell tool takes its command. */
const COMMAND_KEYS = ['command', 'cmd', 'script', 'input'];
/** How long a tool that can return early should wait for the command, in milliseconds. */
const YIELD_MS = 30_000;

/** The shell tool among those offered, if any: a request that has one is a main request. */
export function findShellTool(tools: readonly ToolSpec[]): ToolSpec | undefined {
  return findByName(tools, SHELL_NAMES) ?? tools.find((tool) => tool.name === SCRIPT_NAME && tool.takesText === true);
}

/** The tool that starts a subagent, if the agent under test has one. */
export function findAgentTool(tools: readonly ToolSpec[]): ToolSpec | undefined {
  return findByName(tools, AGENT_NAMES);
}

/** A call of this shell tool that runs `command`, with every argument that its schema requires. */
export function shellCall(tool: ToolSpec, command: string, purpose: string): ToolCall {
  if (tool.takesText === true) return scriptCall(tool, command);
  const properties = asObject(tool.schema['properties']);
  const key = COMMAND_KEYS.find((name) => name in properties) ?? 'command';
  const isList = asObject(properties[key])['type'] === 'array';
  const wanted: Record<string, Json> = { [key]: isList ? ['bash', '-lc', command] : command };
  if ('description' in properties) wanted['description'] = purpose;
  if ('yield_time_ms' in properties) wanted['yield_time_ms'] = YIELD_MS;
  return { name: tool.name, input: withRequired(tool.schema, wanted) };
}

/** A call of this agent tool that hands over `prompt` and waits for the report. */
export function agentCall(tool: ToolSpec, prompt: string, purpose: string): ToolCall {
  const properties = asObject(tool.schema['properties']);
  const wanted: Record<string, Json> = { prompt, description: purpose };
  if ('subagent_type' in properties) wanted['subagent_type'] = 'general-purpose';
  if ('run_in_background' in properties) wanted['run_in_background'] = false;
  return { name: tool.name, input: withRequired(tool.schema, wanted) };
}

function scriptCall(tool: ToolSpec, command: string): ToolCall {
  const call = JSON.stringify({ cmd: command, yield_time_ms: YIELD_MS });
  const input = `const result = await tools.exec_command(${call});\ntext(result.output);`;
  return tool.namespace === undefined
    ? { name: tool.name, input }
    : { name: tool.name, namespace: tool.namespace, input };
}

function findByName(tools: readonly ToolSpec[], names: readonly string[]): ToolSpec | undefined {
  for (const name of names) {
    const found = tools.find((tool) => tool.name === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Adds a harmless value for every required argument that is still missing. */
function withRequired(schema: JsonObject, wanted: Record<string, Json>): JsonObject {
  const properties = asObject(schema['properties']);
  for (const name of asList(schema['required']).map(asText)) {
    wanted[name] ??= sampleOf(asObject(properties[name]));
  }
  return wanted;
}
