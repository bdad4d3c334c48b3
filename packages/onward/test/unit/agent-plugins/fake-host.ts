import type {
  Aside,
  Listener,
  Message,
  Model,
  ModelRequest,
  Plugin,
  PluginHost,
  UserContent,
  Waterfalls,
} from '../../../src/agent/plugin.ts';
import {
  type SessionEvent,
  sessionEvent,
  type SessionEventData,
  type SessionEventType,
  sessionStream,
} from '../../../src/agent/session-events.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/fake-clock.ts';

type Name = keyof Waterfalls;

/** What a test hands to the fake; everything has a default. */
export interface FakeSessionOptions {
  readonly clock?: FakeClock;
  /** Samples of chance, used over and over; 0.5 when absent. */
  readonly samples?: readonly number[];
  /** A log from an earlier process. */
  readonly events?: readonly SessionEvent[];
  readonly model?: Model;
  readonly messages?: readonly Message[];
  readonly aside?: (request: ModelRequest, purpose: string) => Promise<Aside> | Aside;
}

/** A session without a loop: the test plays the loop, plugins see a real host. */
export interface FakeSession {
  readonly clock: FakeClock;
  readonly events: SessionEvent[];
  /** What plugins sent, oldest first. */
  readonly sent: { readonly verb: 'followup' | 'steer' | 'inject'; readonly id: string; readonly text: string }[];
  messages: Message[];
  generation: number;
  /** Set: every `record` fails with it. */
  recordFault: Error | undefined;
  load(plugin: Plugin): void;
  /** Ends a plugin: aborts its lifetime, removes what it registered, awaits its own end. */
  unload(name: string): Promise<void>;
  /** Appends an event, as the loop or an earlier process would. */
  emit<Type extends SessionEventType>(type: Type, data: SessionEventData[Type]): SessionEvent;
  /** Runs a waterfall over the loaded plugins in order; `fallback` is at the end. */
  run<N extends Name>(
    name: N,
    payload: Waterfalls[N]['payload'],
    fallback: () => Waterfalls[N]['result'] | Promise<Waterfalls[N]['result']>,
  ): Promise<Waterfalls[N]['result']>;
  /** Data of the records of a plugin, oldest first. */
  records(plugin: string, kind?: string): readonly unknown[];
}

interface Side {
  state: unknown;
  readonly apply: (state: unknown, event: SessionEvent) => unknown;
}

interface Loaded {
  readonly lifetime: AbortController;
  readonly off: (() => void)[];
  end: (() => void | Promise<void>) | undefined;
}

/** Makes the fake. The epoch of its events is one more than the highest of the given log. */
export function createFakeSession(options: FakeSessionOptions = {}): FakeSession {
  const clock = options.clock ?? createFakeClock();
  const samples = options.samples ?? [0.5];
  const epoch = 1 + Math.max(0, ...(options.events ?? []).map((event) => event.epoch ?? 0));
  const sides: Side[] = [];
  const observers = new Set<(event: SessionEvent) => void>();
  const listeners = new Map<Name, Listener<Name>[]>();
  const loaded = new Map<string, Loaded>();
  let [drawn, ids, step] = [0, 0, { turn: 0, step: 0 }];

  const session: FakeSession = {
    clock,
    events: [...(options.events ?? [])],
    sent: [],
    messages: [...(options.messages ?? [])],
    generation: 0,
    recordFault: undefined,
    load(plugin) {
      const own: Loaded = { lifetime: new AbortController(), off: [], end: undefined };
      loaded.set(plugin.name, own);
      own.end = plugin.setup(hostOf(plugin.name, own)) ?? undefined;
    },
    async unload(name) {
      const own = loaded.get(name);
      own?.lifetime.abort(new Error('unloaded'));
      for (const off of own?.off ?? []) off();
      await own?.end?.();
    },
    emit(type, data) {
      const event = {
        ...sessionEvent(type, data),
        stream: sessionStream('s'),
        position: session.events.length + 1,
        at: clock.now(),
        epoch,
      } as unknown as SessionEvent;
      if (event.type === 'turn.opened') step = { turn: event.data.turn, step: 0 };
      if (event.type === 'step.opened') step = { turn: event.data.turn, step: event.data.step };
      for (const side of sides) side.state = side.apply(side.state, event);
      session.events.push(event);
      for (const observer of observers) {
        try {
          observer(event);
        } catch {
          // An observer changes nothing.
        }
      }
      return event;
    },
    async run(name, payload, fallback) {
      const list = listeners.get(name) ?? [];
      const ask = async (index: number): Promise<never> => {
        const listener = list[index];
        if (listener === undefined) return (await fallback()) as never;
        let asked = false;
        return (await listener(Object.freeze(payload) as never, async () => {
          if (asked) throw new Error('next() was called twice');
          asked = true;
          return await ask(index + 1);
        })) as never;
      };
      return await ask(0);
    },
    records: (plugin, kind) =>
      session.events.flatMap((event) =>
        event.type === 'plugin.recorded' &&
        event.data.plugin === plugin &&
        (kind === undefined || event.data.kind === kind)
          ? [event.data.data]
          : [],
      ),
  };

  const hostOf = (name: string, own: Loaded): PluginHost => ({
    session: 's',
    clock,
    random: { next: () => samples[drawn++ % samples.length] ?? 0.5 },
    ids: { uuid: () => `id-${++ids}` },
    hash: { sha256: (text) => text },
    lifetime: own.lifetime.signal,
    on(waterfall, listener) {
      const list = listeners.get(waterfall) ?? [];
      listeners.set(waterfall, [...list, listener]);
      const off = (): void =>
        void listeners.set(
          waterfall,
          (listeners.get(waterfall) ?? []).filter((other) => other !== (listener as never)),
        );
      own.off.push(off);
      return off;
    },
    observe(listener) {
      observers.add(listener);
      const off = (): void => void observers.delete(listener);
      own.off.push(off);
      return off;
    },
    fold(initial, apply) {
      const side: Side = { state: initial, apply: apply as Side['apply'] };
      for (const event of session.events) side.state = side.apply(side.state, event);
      sides.push(side);
      return () => side.state as typeof initial;
    },
    async record(kind, data) {
      await Promise.resolve();
      if (session.recordFault !== undefined) throw session.recordFault;
      session.emit('plugin.recorded', { ...step, plugin: name, kind, data });
    },
    followup: (content) => send(name, 'followup', content),
    steer: (content) => send(name, 'steer', content),
    inject: (content) => send(name, 'inject', content),
    history: () => ({ messages: session.messages, generation: session.generation }),
    model: () => options.model ?? silentModel,
    async replaceHistory(change) {
      await Promise.resolve();
      if (change.generation !== session.generation) return false;
      const { from, to, messages, because } = change;
      session.messages.splice(from, to - from, ...messages);
      session.generation += 1;
      session.emit('history.replaced', { generation: session.generation, from, to, messages, by: name, because });
      return true;
    },
    aside: async (purpose, request) =>
      (await options.aside?.(request, purpose)) ?? { ok: false, failure: { message: 'no aside was scripted' } },
  });

  const send = (
    from: string,
    verb: 'followup' | 'steer' | 'inject',
    content: string | UserContent,
  ): { readonly id: string } => {
    const id = `message-${session.sent.length + 1}`;
    const parts: UserContent = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const text = parts.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('');
    session.sent.push({ verb, id, text });
    const kind = ({ followup: 'prompt', steer: 'steer', inject: 'context' } as const)[verb];
    session.emit('message.accepted', { id, kind, content: parts, from });
    return { id };
  };
  return session;
}

const silentModel: Model = {
  id: 'test/silent',
  async *stream() {
    yield await Promise.resolve({ type: 'finish', reason: 'stop' } as const);
  },
};
