import type { HistoryItem } from './history.ts';
import { firstPrompt } from './history.ts';
import type { JsonObject } from './json.ts';
import { asObject } from './json.ts';
import { sampleOf } from './sample.ts';
import type { Script, Task } from './script.ts';
import type { Move } from './temperament.ts';
import { nextMove } from './temperament.ts';
import type { ToolSpec } from './tools.ts';
import { agentCall, findAgentTool, findShellTool, shellCall } from './tools.ts';
import type { Turn } from './turn.ts';

/** What kind of request this is. Only `main` requests are counted and meet faults. */
export type RequestKind = 'main' | 'compaction' | 'auxiliary';

const COMPACTION =
  /context checkpoint compaction|create a detailed summary of the conversation|summari[sz]e the conversation/i;

/** A main request offers a shell tool; a compaction asks for a summary; titles, quota probes and the like are auxiliary. */
export function kindOf(history: readonly HistoryItem[], tools: readonly ToolSpec[]): RequestKind {
  const last = history.at(-1);
  if (last?.kind === 'user' && COMPACTION.test(last.text)) return 'compaction';
  return findShellTool(tools) === undefined ? 'auxiliary' : 'main';
}

/** The turn that the temperament takes on this history, in terms of the tools that the request offers. */
export function playTurn(
  script: Script,
  task: Task,
  history: readonly HistoryItem[],
  tools: readonly ToolSpec[],
): Turn {
  return toTurn(nextMove(history, task, script.temperament), tools);
}

/** The answer to a request to compact: all results word for word, or nothing of use. */
export function summaryTurn(script: Script, history: readonly HistoryItem[]): Turn {
  if (script.summary === 'uninformative') return say('The conversation was about a small task in a shell.');
  const results = history.flatMap((item) => (item.kind === 'result' ? [`- ${item.text}`] : []));
  return say(`Task: ${firstPrompt(history)}\nTool results so far:\n${results.join('\n') || '- none'}`);
}

/** The answer to an auxiliary request: a word, or a small object if a JSON schema was asked for. */
export function auxiliaryTurn(body: JsonObject): Turn {
  const schema = requestedSchema(body);
  return say(schema === undefined ? 'Lab' : JSON.stringify(sampleOf(schema)));
}

function toTurn(move: Move, tools: readonly ToolSpec[]): Turn {
  const shell = findShellTool(tools);
  switch (move.kind) {
    case 'run':
      return shell === undefined
        ? say('There is no shell tool.')
        : call(
            `Now step ${move.step.id} of the task.`,
            shellCall(shell, move.step.command, `Run step ${move.step.id}`),
          );
    case 'inspect':
      return shell === undefined
        ? say('There is no shell tool.')
        : call(
            `First I look whether step ${move.step.id} was done.`,
            shellCall(shell, move.command, `Inspect step ${move.step.id}`),
          );
    case 'delegate': {
      const agent = findAgentTool(tools);
      return agent === undefined
        ? say('There is no tool to start a subagent.')
        : call(
            `A subagent takes step ${move.stepId} of the task.`,
            agentCall(agent, move.prompt, `Step ${move.stepId}`),
          );
    }
    case 'finish':
    case 'give-up':
      return say(move.text);
    default:
      return unreachable(move);
  }
}

function call(text: string, toolCall: Turn['calls'][number]): Turn {
  return { text, calls: [toolCall], stop: 'tool' };
}

function say(text: string): Turn {
  return { text, calls: [], stop: 'end' };
}

function requestedSchema(body: JsonObject): JsonObject | undefined {
  const places = [
    asObject(asObject(body['output_config'])['format'])['schema'],
    asObject(body['output_format'])['schema'],
    asObject(asObject(body['text'])['format'])['schema'],
    asObject(asObject(body['response_format'])['json_schema'])['schema'],
  ];
  return places.map(asObject).find((schema) => Object.keys(schema).length > 0);
}

function unreachable(value: never): never {
  throw new TypeError(`no such move: ${JSON.stringify(value)}`);
}
