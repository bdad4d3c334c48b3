import { shapeAt, type Shape, textAt } from './shape.ts';

interface Task {
  readonly description: string;
  /** The call that began it. */
  readonly callId: string | undefined;
  state: 'open' | 'done' | 'failed';
}

/** Subagents and workflows of this process, in front and in the background. */
export interface Tasks {
  readonly known: Map<string, Task>;
  /** The last error line of a subagent, by the call that began it; gone when it goes on. */
  readonly errors: Map<string, string>;
  /** Subagents that ended with such an error, by call: what for. */
  readonly broken: Map<string, string>;
}

/** No task seen yet. */
export function noTasks(): Tasks {
  return { known: new Map(), errors: new Map(), broken: new Map() };
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
    case 'task_started': {
      const type = textAt(line, 'task_type');
      if (type !== undefined && !waitedFor.includes(type)) return;
      const description = textAt(line, 'description') ?? id;
      // The same job begun again makes up for an earlier failure of it.
      for (const [key, task] of tasks.known)
        if (task.state === 'failed' && task.description === description) tasks.known.delete(key);
      tasks.known.set(id, { description, callId: textAt(line, 'tool_use_id'), state: 'open' });
      return;
    }
    case 'task_updated':
      endTask(tasks, id, textAt(shapeAt(line, 'patch'), 'status'));
      return;
    case 'task_notification':
      endTask(tasks, id, textAt(line, 'status'));
      return;
    default:
  }
}

function endTask(tasks: Tasks, id: string, status: string | undefined): void {
  const task = tasks.known.get(id);
  if (task === undefined) return;
  if (status === 'completed') task.state = 'done';
  if (status === 'failed' || status === 'killed' || status === 'stopped') task.state = 'failed';
}

/** A line of a subagent: an error that the CLI wrote into it, or a sign that it went on. */
export function subagentLine(tasks: Tasks, callId: string, error: string | undefined): void {
  if (error === undefined) tasks.errors.delete(callId);
  else tasks.errors.set(callId, error);
}

/** The result of a call came back. For a subagent in front, that is its end; one in the background has only begun. */
export function callReturned(tasks: Tasks, callId: string, begunOnly: boolean): void {
  if (begunOnly) return;
  const error = tasks.errors.get(callId);
  const task = [...tasks.known.values()].find((known) => known.callId === callId);
  if (error !== undefined) tasks.broken.set(callId, task?.description ?? error);
  if (task?.state === 'open') task.state = error === undefined ? 'done' : 'failed';
}

/** True while work goes on that the CLI waits for: a `result` is then not its last word. */
export function tasksOpen(tasks: Tasks): boolean {
  return [...tasks.known.values()].some((task) => task.state === 'open');
}

/** What a failed subagent was to do; `undefined` when none failed, or its job was done by another one later. */
export function failedTask(tasks: Tasks): string | undefined {
  const known = [...tasks.known.values()];
  const failed = known.find((task) => task.state === 'failed');
  if (failed !== undefined) return failed.description;
  return [...tasks.broken.values()][0];
}
