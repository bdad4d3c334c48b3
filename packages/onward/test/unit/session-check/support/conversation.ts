import { signatureOf } from '../../../../src/lab/model-server/signature.ts';
import type { JsonObject } from '../../../../src/session-check/json-shape.ts';
import type { SessionFormat } from '../../../../src/session-check/index.ts';

/** One answer of the model. */
export interface Answer {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls: readonly { readonly id: string; readonly output: string }[];
}

/** What was said, whoever writes it down. */
export interface Turn {
  readonly prompt: string;
  readonly image?: string;
  readonly answers: readonly Answer[];
}

export const MODEL = 'some-model';
const SESSION = '01a22f0b-95d8-7180-81ac-322acd10bd26';

/** A conversation of so many turns; each has a step of so many parallel calls, and an answer. */
export function conversation(turns: number, calls: (turn: number) => number): readonly Turn[] {
  return Array.from({ length: turns }, (_, turn) => ({
    prompt: `prompt ${turn} "é"`,
    answers: [
      {
        thinking: `thought ${turn}`,
        text: `I look ${turn}`,
        calls: Array.from({ length: calls(turn) }, (_none, call) => ({
          id: `call_${turn}_${call}`,
          output: `out ${turn} ${call} ✓`,
        })),
      },
      { text: `answer ${turn}`, calls: [] },
    ],
  }));
}

/** The healthy file of such a conversation. */
export function write(format: SessionFormat, turns: readonly Turn[]): string {
  const lines = { claude: claudeLines, codex: codexLines, onward: onwardLines }[format](turns);
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function claudeLines(turns: readonly Turn[]): readonly JsonObject[] {
  const lines: JsonObject[] = [{ type: 'queue-operation', operation: 'enqueue', sessionId: SESSION }];
  let parent: string | null = null;
  let count = 0;
  const add = (type: string, rest: JsonObject): string => {
    const uuid = `00000000-0000-4000-8000-${String((count += 1)).padStart(12, '0')}`;
    const timestamp = new Date(1_796_000_000_000 + count * 1_000).toISOString();
    const around = {
      userType: 'external',
      cwd: '/workspace',
      sessionId: SESSION,
      version: '2.1.197',
      gitBranch: 'main',
    };
    lines.push({ parentUuid: parent, isSidechain: false, type, ...rest, uuid, timestamp, ...around });
    parent = uuid;
    return uuid;
  };
  let messages = 0;
  for (const { prompt, image, answers } of turns) {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } };
    const content = [{ type: 'text', text: prompt }, ...(image === undefined ? [] : [picture])];
    add('user', { message: { role: 'user', content } });
    add('attachment', { attachment: { type: 'skill_listing', content: 'none' } });
    for (const { thinking, text, calls } of answers) {
      const id = `msg_${(messages += 1)}`;
      const say = (block: JsonObject): string =>
        add('assistant', { message: { id, type: 'message', role: 'assistant', model: MODEL, content: [block] } });
      if (thinking !== undefined) say({ type: 'thinking', thinking, signature: signatureOf(thinking) });
      if (text !== undefined) say({ type: 'text', text });
      const asked = calls.map((call) => say({ type: 'tool_use', id: call.id, name: 'Bash', input: { command: 'ls' } }));
      for (const [index, call] of calls.entries()) {
        const block = { tool_use_id: call.id, type: 'tool_result', content: call.output, is_error: false };
        // Parallel results hang on their own call, and the last of them carries the chain.
        parent = asked[index] ?? parent;
        add('user', { message: { role: 'user', content: [block] }, sourceToolAssistantUUID: asked[index] });
      }
    }
    lines.push({ type: 'last-prompt', lastPrompt: prompt, leafUuid: parent, sessionId: SESSION });
  }
  return lines;
}

function codexLines(turns: readonly Turn[]): readonly JsonObject[] {
  const lines: JsonObject[] = [];
  const add = (type: string, payload: JsonObject): void => {
    const timestamp = new Date(1_796_000_000_000 + lines.length * 1_000).toISOString();
    lines.push({ timestamp, ordinal: lines.length, type, payload });
  };
  add('session_meta', { id: SESSION, cwd: '/workspace', cli_version: '0.171.0', model_provider: 'openai' });
  for (const { prompt, image, answers } of turns) {
    add('event_msg', { type: 'task_started', turn_id: 't' });
    const picture = { type: 'input_image', image_url: `data:image/png;base64,${image}` };
    const content = [{ type: 'input_text', text: prompt }, ...(image === undefined ? [] : [picture])];
    add('response_item', { type: 'message', role: 'user', content });
    for (const { thinking, text, calls } of answers) {
      if (thinking !== undefined) {
        const summary = [{ type: 'summary_text', text: thinking }];
        add('response_item', { type: 'reasoning', summary, encrypted_content: signatureOf(thinking) });
      }
      const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
      if (text !== undefined) add('response_item', said);
      for (const { id } of calls)
        add('response_item', { type: 'function_call', name: 'shell', arguments: '{"cmd":"ls"}', call_id: id });
      for (const { id, output } of calls) add('response_item', { type: 'function_call_output', call_id: id, output });
      add('event_msg', { type: 'token_count', info: null });
    }
  }
  return lines;
}

function onwardLines(turns: readonly Turn[]): readonly JsonObject[] {
  const lines: JsonObject[] = [];
  const add = (type: string, data: JsonObject): void => {
    const position = lines.length + 1;
    lines.push({
      stream: `session:${SESSION}`,
      position,
      at: 1_796_000_000_000 + position,
      epoch: 1,
      type,
      v: 1,
      data,
    });
  };
  const model = `anthropic/${MODEL}`;
  add('session.created', { name: 'a' });
  add('header.set', { model, system: '', tools: [], settings: {} });
  let messages = 0;
  for (const [index, { prompt, image, answers }] of turns.entries()) {
    const turn = index + 1;
    const id = `message-${turn}`;
    const picture = { type: 'media', mediaType: 'image/png', data: image };
    const content = [{ type: 'text', text: prompt }, ...(image === undefined ? [] : [picture])];
    add('message.accepted', { id, kind: 'prompt', content });
    add('turn.opened', { turn, chain: turn, trigger: { kind: 'prompt', id } });
    add('input.committed', { items: [{ id }] });
    messages += 1;
    for (const [number, { thinking, text, calls }] of answers.entries()) {
      const at = { turn, step: number + 1 };
      add('step.opened', { ...at, model, messages, generation: 0 });
      const thought = {
        type: 'thinking',
        text: thinking,
        opaque: { anthropic: { signature: signatureOf(thinking ?? '') } },
      };
      const parts: JsonObject[] = [
        ...(thinking === undefined ? [] : [thought]),
        ...(text === undefined ? [] : [{ type: 'text', text }]),
        ...calls.map((call) => ({ type: 'call', id: call.id, tool: 'shell', input: { command: 'ls' } })),
      ];
      for (const [block, part] of parts.entries()) add('block.closed', { ...at, block, part });
      add('answer.completed', { ...at, blocks: parts.length, finish: calls.length > 0 ? 'calls' : 'stop' });
      messages += calls.length > 0 ? 2 : 1;
      for (const call of calls) add('call.started', { ...at, id: call.id });
      for (const call of calls)
        add('call.finished', { ...at, id: call.id, outcome: { ok: true, output: call.output } });
      add('step.closed', { ...at, outcome: 'completed' });
    }
    add('turn.closed', { turn, chain: turn, end: { reason: 'completed' } });
  }
  return lines;
}
