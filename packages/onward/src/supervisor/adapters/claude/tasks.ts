import { numberAt, shapeAt, type Shape, textAt } from './shape.ts';

interface Task {
  readonly description: string;
  /** The call that began it. */
  readonly callId: string | undefined;
  state: 'open' | 'done' | 'failed';
}

/** Subagents and workflows of this process, in front and in the background. */
export interface Tasks {
  readonly known: Map<string, Task>;
  /** Calls whose subagent wrote an error last; gone when it goes on. */
  readonly broken: Set<string>;
}

/** No task seen yet. */
export function noTasks(): Tasks {
  return { known: new Map(), broken: new Set() };
}

/**
 * Only these keep a headless CLI alive after its result (2.1.197, its own source); a background shell is ended five
 * seconds after the end of input.
 */
const waitedFor: readonly string[] = ['local_agent', 'local_workflow'];

/** Follows `task_started`, `task_updated` and `task_notification`. */
export function taskLine(tasks: Tasks, line: Shape): void {
  const id = textAt(line, 'task_id');
  if (id === undefined) return;
  switch (textAt(line, 'subtype') ?? '') {
    case 'task_started':
      beginTask(tasks, id, line);
      return;
    case 'task_updated':
      // `completed` comes before the model has been told; then another turn follows, so it is not the end yet.
      if (isFailure(textAt(shapeAt(line, 'patch'), 'status'))) settle(tasks, id, 'failed');
      return;
    case 'task_notification':
      settle(tasks, id, isFailure(textAt(line, 'status')) ? 'failed' : 'done');
      return;
    default:
  }
}

function beginTask(tasks: Tasks, id: string, line: Shape): void {
  const type = textAt(line, 'task_type');
  if (type !== undefined && !waitedFor.includes(type)) return;
  const description = textAt(line, 'description') ?? id;
  // The same job begun again makes up for an earlier failure of it.
  for (const [key, task] of tasks.known)
    if (task.state === 'failed' && task.description === description) tasks.known.delete(key);
  tasks.known.set(id, { description, callId: textAt(line, 'tool_use_id'), state: 'open' });
}

function isFailure(status: string | undefined): boolean {
  return status === 'failed' || status === 'killed' || status === 'stopped';
}

function settle(tasks: Tasks, id: string, state: 'done' | 'failed'): void {
  const task = tasks.known.get(id);
  if (task === undefined || task.state === 'failed') return;
  // The CLI says "completed" also of a subagent whose last words are an API error.
  const broken = task.callId !== undefined && tasks.broken.has(task.callId);
  task.state = broken ? 'failed' : state;
}

/** A line of a subagent: one that the CLI wrote in place of an answer, or a sign that it went on. */
export function subagentLine(tasks: Tasks, callId: string, broken: boolean): void {
  if (broken) tasks.broken.add(callId);
  else tasks.broken.delete(callId);
}

/**
 * The result of a call came back, with what the CLI told about it (`tool_use_result`). For a subagent in front that is
 * its end; one in the background has only begun. No tokens at all in its last message: the CLI wrote that message itself.
 */
export function callReturned(tasks: Tasks, callId: string, told: Shape | undefined): void {
  if (textAt(told, 'status') === 'async_launched') return;
  const known = [...tasks.known.entries()].find(([, task]) => task.callId === callId);
  if (known === undefined) return;
  const [id, task] = known;
  if (textAt(told, 'agentId') !== undefined && numberAt(told, 'totalTokens') === 0) task.state = 'failed';
  settle(tasks, id, 'done');
}

/** The call that began the subagent with this id; a task and its agent have one id. */
export function callOfTask(tasks: Tasks, agentId: string | undefined): string | undefined {
  return agentId === undefined ? undefined : tasks.known.get(agentId)?.callId;
}

/** True while work goes on that the CLI waits for: a `result` is then not its last word. */
export function tasksOpen(tasks: Tasks): boolean {
  return [...tasks.known.values()].some((task) => task.state === 'open');
}

/** What a subagent was to do that failed or was still at it in the end; `undefined` when there is none, or its job was begun again. */
export function failedTask(tasks: Tasks): string | undefined {
  return [...tasks.known.values()].find((task) => task.state !== 'done')?.description;
}
