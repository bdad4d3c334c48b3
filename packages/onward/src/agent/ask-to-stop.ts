import { OnwardError } from '../kernel/error.ts';
import type { Runtime, TurnContext } from './runtime.ts';
import { sessionEvent, type SessionEventData } from './session-events.ts';

type Accepted = SessionEventData['message.accepted'];

/**
 * Tells the listeners that the model owes nothing more; whoever steers now forces another step. Throws what a listener throws, and
 * `agent/steered-twice`, naming the plugin, when one says again what did not help before: each time costs an answer.
 */
export async function askToStop(rt: Runtime, at: TurnContext, text: string): Promise<void> {
  const { turn, chain, signal } = at;
  const step = rt.log.state().open?.lastStep ?? 1;
  const said: Accepted[] = [];
  const stop = rt.log.observe((event) => {
    if (event.type === 'message.accepted' && event.data.kind === 'steer') said.push(event.data);
  });
  try {
    const payload = Object.freeze({ turn, step, chain, signal, text });
    await rt.waterfalls.run('agent/turn-stopping', payload, () => undefined);
  } finally {
    stop();
  }
  if (signal.aborted) return;
  // What a user says is theirs to repeat.
  const own = said.filter(({ from }) => from !== undefined);
  const again = own.find((message) => at.steered.has(keyOf(message)));
  if (again === undefined) return own.forEach((message) => at.steered.add(keyOf(message)));
  const because = `${again.from} steered the turn with the same text twice`;
  rt.log.add(sessionEvent('message.dropped', { ids: [again.id], because }));
  throw new OnwardError('agent/steered-twice', `${because}: ${JSON.stringify(again.content).slice(0, 300)}`, {
    place: again.from ?? '',
    next: ['Look at why this listener is never content; a changed text may be sent.'],
  });
}

function keyOf({ from, content }: Accepted): string {
  return JSON.stringify([from, content]);
}
