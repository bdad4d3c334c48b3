import { textOf, type WireMessage } from './history.ts';
import { recordedText, type Script } from './script.ts';

/**
 * What the model does next, from its history alone: an item counts as done once its receipt is anywhere in it. A cautious model
 * also leaves an item alone whose result says that nobody knows what became of it; the other one simply asks again.
 */
export function nextStep(messages: readonly WireMessage[], script: Script, cautious: boolean): number {
  const text = JSON.stringify(messages);
  const warned = cautious ? warnedItems(messages) : '';
  const next = script.items.findIndex((item) => !text.includes(recordedText(item)) && !warned.includes(item));
  return next === -1 ? 2 : next;
}

/** The arguments of the calls whose result says that it is unknown what they did. */
function warnedItems(messages: readonly WireMessage[]): string {
  const ids = messages
    .filter((message) => message.role === 'tool' && saysUnknown(textOf(message.content)))
    .map((message) => message.tool_call_id);
  return messages
    .flatMap((message) => message.tool_calls ?? [])
    .filter((call) => ids.includes(call.id))
    .map((call) => call.function?.arguments ?? '')
    .join(' ');
}

/** Whether a result says, in whatever words, that nobody knows whether the call took effect. */
export function saysUnknown(text: string): boolean {
  return /outcome[-_ ]unknown|unknown outcome|outcome is (not known|unknown)|may (already )?have/i.test(text);
}
