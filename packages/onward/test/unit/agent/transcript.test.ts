import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionEvent, TurnEnd } from '../../../src/agent/session-events.ts';
import {
  type AttemptEntry,
  type EndEntry,
  presentEnd,
  type TranscriptEntry,
} from '../../../src/agent/transcript-entry.ts';
import { addToTranscript, finalText, foldTranscript, type Transcript } from '../../../src/agent/transcript.ts';
import { anyLog, LogWriter, type Play } from './transcript-log.ts';

type Kind = TranscriptEntry['entry'];

function all<K extends Kind>(transcript: Transcript, kind: K): Extract<TranscriptEntry, { readonly entry: K }>[] {
  return transcript.entries.filter((entry) => entry.entry === kind) as never;
}

const texts = (attempt: AttemptEntry | undefined): readonly string[] =>
  attempt?.blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])) ?? [];

function log(plays: readonly Play[], more: { readonly drops?: true; readonly compacts?: true } = {}): LogWriter {
  const writer = new LogWriter();
  writer.prompt({ plays, drops: more.drops ?? false, compacts: more.compacts ?? false });
  return writer;
}

const plain = (end: EndEntry): unknown => [end.turn, end.end, end.shown, end.supersededBy];

const said = (transcript: Transcript): unknown =>
  transcript.entries.flatMap((entry): readonly unknown[] =>
    entry.entry === 'message' ? [entry.content] : entry.entry === 'attempt' ? [entry.blocks] : [],
  );

function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

describe('the transcript', () => {
  it('shows a failed attempt as superseded by the retry turn that names it, and its end, too', () => {
    const transcript = foldTranscript(log(['failed', 'failed', 'answer']).events);
    expect(all(transcript, 'attempt').map((attempt) => [attempt.turn, attempt.state, attempt.supersededBy])).toEqual([
      [1, 'failed', 2],
      [2, 'failed', 3],
      [3, 'completed', undefined],
    ]);
    expect(all(transcript, 'end').map((end) => [end.shown.tone, end.supersededBy, end.retries])).toEqual([
      ['error', 2, 0],
      ['error', 3, 1],
      ['success', undefined, 2],
    ]);
  });

  it('supersedes nothing that is part of the conversation: steps before the failed one stay as they are', () => {
    const writer = new LogWriter();
    const id = writer.accept('go');
    writer.add('turn.opened', { turn: 1, chain: 1, trigger: { kind: 'prompt', id } });
    writer.calls(1, 1);
    writer.attempt(1, 2, 'failed');
    const failure = { message: 'failure 1' };
    writer.add('turn.closed', { turn: 1, chain: 1, end: { reason: 'failed', failure, class: 'transient', rule: 'r' } });
    writer.add('turn.opened', { turn: 2, chain: 1, trigger: { kind: 'retry', of: 1 } });
    const attempts = all(foldTranscript(writer.events), 'attempt');
    expect(attempts.map(({ supersededBy }) => supersededBy)).toEqual([undefined, 2]);
  });

  it('follows the link of a retry and not what lies before it', () => {
    const writer = log(['failed']);
    writer.prompt({ plays: ['failed'], drops: false, compacts: false });
    writer.add('turn.opened', { turn: 3, chain: 1, trigger: { kind: 'retry', of: 1 } });
    const ends = all(foldTranscript(writer.events), 'end');
    expect(ends.map(({ supersededBy }) => supersededBy)).toEqual([3, undefined]);
  });

  it('A142 shows the terminal failure beside the history of retries', () => {
    const transcript = foldTranscript(log(['failed', 'failed', 'failed']).events);
    const ends = all(transcript, 'end');
    expect(ends.map(({ shown, supersededBy }) => [shown.detail, supersededBy])).toEqual([
      ['failure 1 (transient)', 2],
      ['failure 2 (transient)', 3],
      ['failure 3 (transient)', undefined],
    ]);
    expect(all(transcript, 'note')).toHaveLength(2);
    expect(ends.at(-1)).toMatchObject({ retries: 2, steps: 1 });
  });

  it('A142 shows it also from a tail of any length, with every end and retry that lies in it', () => {
    fc.assert(
      fc.property(anyLog, (events) => {
        const whole = foldTranscript(events);
        for (let k = 0; k <= events.length; k++) {
          const tail = k === 0 ? [] : events.slice(-k);
          const shown = foldTranscript(tail);
          const first = tail[0]?.position ?? events.length + 1;
          const within = <K extends Kind>(kind: K): TranscriptEntry[] =>
            all(whole, kind).filter(({ position }) => position >= first);
          expect(all(shown, 'end').map(plain)).toEqual((within('end') as EndEntry[]).map(plain));
          for (const kind of ['turn', 'note', 'compaction', 'cancel'] as const)
            expect(all(shown, kind)).toEqual(within(kind));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('says of an attempt or a message whether its beginning is missing', () => {
    const { events } = log(['calls']);
    const [whole, tail] = [foldTranscript(events), foldTranscript(events.slice(4))];
    expect(all(whole, 'attempt').map(({ partial }) => partial)).toEqual([undefined, undefined]);
    expect(all(tail, 'attempt').map(({ partial }) => partial)).toEqual([true, undefined]);
    const committed = events.filter(({ type }) => type === 'input.committed');
    expect(all(foldTranscript(committed), 'message')).toMatchObject([{ id: 'm1', content: [], partial: true }]);
  });

  it('never throws, whatever part of a log it is given, in whatever order', () => {
    fc.assert(
      fc.property(
        anyLog.chain((events) => fc.shuffledSubarray([...events])),
        (events) => {
          const transcript = foldTranscript(events);
          expect(transcript.steps).toBe(events.filter(({ type }) => type === 'step.closed').length);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is the same event by event as at once, never changes what it gave before, and never loses an entry', () => {
    fc.assert(
      fc.property(anyLog, (events) => {
        let transcript = foldTranscript([]);
        for (const event of events) {
          const before = freeze(transcript);
          transcript = addToTranscript(before, event);
          const kept = transcript.entries.slice(0, before.entries.length);
          expect(kept.map(({ entry, position }) => [entry, position])).toEqual(
            before.entries.map(({ entry, position }) => [entry, position]),
          );
        }
        expect(transcript).toEqual(foldTranscript(events));
      }),
      { numRuns: 60 },
    );
  });

  it('takes an event that it has already for none', () => {
    const { events } = log(['answer']);
    const transcript = foldTranscript(events);
    for (const event of events) expect(addToTranscript(transcript, event)).toBe(transcript);
  });

  it('passes over events that it does not know', () => {
    const unknown = { type: 'mood.changed', v: 1, data: {}, stream: 'session:s', position: 1, at: 0 };
    expect(foldTranscript([unknown as unknown as SessionEvent]).entries).toEqual([]);
  });

  it('keeps all that was said when the model history is replaced, and says where that was', () => {
    const uncut = foldTranscript(log(['calls']).events);
    const compacted = foldTranscript(log(['calls'], { compacts: true }).events);
    expect(said(compacted)).toEqual(said(uncut));
    expect(all(compacted, 'compaction')).toMatchObject([{ by: 'compaction', replaced: 1, left: 0 }]);
  });

  it('has a message in the queue until it is committed or dropped, and then in its place', () => {
    const writer = new LogWriter();
    const [first, second] = [writer.accept('one'), writer.accept('two')];
    expect(foldTranscript(writer.events).queued.map(({ id }) => id)).toEqual([first, second]);
    writer.add('turn.opened', { turn: 1, chain: 1, trigger: { kind: 'prompt', id: first } });
    writer.add('input.committed', { items: [{ id: first, content: [{ type: 'text', text: 'ONE' }] }] });
    writer.add('message.dropped', { ids: [second], because: 'cancelled: user' });
    const transcript = foldTranscript(writer.events);
    expect(transcript.queued).toEqual([]);
    expect(all(transcript, 'message')).toMatchObject([
      { id: first, state: 'committed', turn: 1, content: [{ text: 'ONE' }], original: [{ text: 'one' }] },
      { id: second, state: 'dropped', because: 'cancelled: user', content: [{ text: 'two' }] },
    ]);
  });

  it('shows a call with its question and its outcome', () => {
    const writer = new LogWriter();
    const seen: unknown[] = [];
    writer.add('turn.opened', { turn: 1, chain: 1, trigger: { kind: 'prompt', id: 'm' } });
    writer.calls(1, 1);
    let transcript = foldTranscript([]);
    for (const event of writer.events) {
      transcript = addToTranscript(transcript, event);
      const block = all(transcript, 'attempt')[0]?.blocks[0];
      if (block?.kind === 'call') seen.push([block.state, block.question?.open, block.outcome?.ok]);
    }
    expect(seen).toEqual([
      ['proposed', undefined, undefined],
      ['proposed', undefined, undefined],
      ['waiting', true, undefined],
      ['started', false, undefined],
      ['finished', false, true],
      ['finished', false, true],
    ]);
  });

  it('shows a call of a failed answer as discarded', () => {
    const writer = new LogWriter();
    writer.add('step.opened', { turn: 1, step: 1, model: 'm', messages: 1, generation: 0 });
    const part = { type: 'call', id: 'c', tool: 'write', input: {} } as const;
    writer.add('block.closed', { turn: 1, step: 1, block: 0, part });
    writer.add('step.closed', { turn: 1, step: 1, outcome: 'failed', failure: { message: 'cut' } });
    expect(all(foldTranscript(writer.events), 'attempt')[0]).toMatchObject({
      state: 'failed',
      answer: 'none',
      blocks: [{ kind: 'call', state: 'discarded' }],
    });
  });

  it('shows an interrupted answer as far as it had been shown', () => {
    const [attempt] = all(foldTranscript(log(['aborted']).events), 'attempt');
    expect(attempt).toMatchObject({ state: 'aborted', answer: 'interrupted' });
    expect(texts(attempt)).toEqual(['text 1.1 and a b']);
  });

  it('counts steps by their closes, failed and cancelled ones included', () => {
    const transcript = foldTranscript(log(['failed', 'calls']).events);
    expect(transcript.steps).toBe(3);
    expect(all(transcript, 'end').map((end) => end.steps)).toEqual([1, 2]);
  });

  it('has a presentation of its own for each way to end, and only a full answer is a success', () => {
    const ends: readonly TurnEnd[] = [
      { reason: 'completed' },
      { reason: 'max-tokens' },
      { reason: 'interrupted' },
      { reason: 'aborted', cause: 'user' },
      { reason: 'disposed', cause: 'disposed' },
      { reason: 'limit', scope: 'turn', unit: 'usd', limit: 1 },
      { reason: 'failed', failure: { message: 'no' }, class: 'auth', rule: 'r' },
    ];
    const shown = ends.map((end) => presentEnd(end));
    expect(new Set(shown.map(({ title }) => title)).size).toBe(ends.length);
    expect(shown.filter(({ tone }) => tone === 'success')).toEqual([presentEnd({ reason: 'completed' })]);
  });

  it('folds a chain of 10,000 retries', () => {
    const { events } = log([...Array.from({ length: 10_000 }, () => 'failed' as const), 'answer']);
    expect(all(foldTranscript(events), 'end').at(-1)).toMatchObject({ retries: 10_000, shown: { tone: 'success' } });
  });
});

describe('the final text of a chain', () => {
  it('is that of the last answer with any text', () => {
    const writer = new LogWriter();
    writer.add('turn.opened', { turn: 1, chain: 1, trigger: { kind: 'prompt', id: 'm' } });
    writer.attempt(1, 1, 'answer');
    writer.calls(1, 2);
    expect(finalText(writer.events, 1)).toBe('text 1.1');
    expect(finalText(foldTranscript(writer.events), 1)).toBe('text 1.1');
  });

  it('is never that of a failed attempt or of another chain', () => {
    const writer = log(['answer']);
    const chain = writer.prompt({ plays: ['failed', 'failed'], drops: false, compacts: false });
    expect([finalText(writer.events, 1), finalText(writer.events, chain)]).toEqual(['text 1.1', '']);
  });
});
