import { asList, asObject, asText, type JsonObject, shortJson } from '../json-shape.ts';
import type { CallPart, History, JsonPath, Part, Place } from '../message-form.ts';

/** The step under way. */
interface Step {
  readonly key: string;
  readonly model: string;
  readonly parts: Part[];
  /** Where results of its calls go, once there are any. */
  results: Part[] | undefined;
}

/** The history that the events of a session add up to, message by message, with the place of each part. */
export class Conversation {
  readonly #accepted = new Map<string, Place>();
  readonly #content = new Map<string, readonly Part[]>();
  readonly #ids = new Map<string, Place[]>();
  /** Line of the last event of a step that something can be added behind. */
  readonly #ends = new Map<string, number>();
  readonly #started = new Set<string>();
  readonly #stepOf = new Map<string, string>();
  #messages: Part[][] = [];
  #step: Step | undefined;
  #model: string | undefined;

  /** The model that the session goes on with. */
  get model(): string | undefined {
    return this.#model;
  }

  /** All parts in order. */
  history(): History {
    return this.#messages.flat();
  }

  /** Takes the next event. What says nothing about the history is passed over. */
  take(line: number, event: JsonObject): void {
    const data = asObject(event['data']);
    switch (asText(event['type'])) {
      case 'message.accepted':
        this.#accepted.set(asText(data['id']), { line, path: ['data', 'content'] });
        this.#content.set(asText(data['id']), userParts(data['content'], { line, path: ['data', 'content'] }));
        return;
      case 'input.committed':
        for (const [index, item] of asList(data['items']).entries())
          this.#commit(asObject(item), { line, path: ['data', 'items', index] });
        return;
      case 'header.set':
        this.#model = asText(data['model']) || this.#model;
        return;
      case 'history.replaced':
        return this.#replace(data, line);
      default:
        this.#takeStep(line, asText(event['type']), data);
    }
  }

  /** The line behind which results of a call's step are added. */
  endOf(call: CallPart): number {
    return this.#ends.get(this.#stepOf.get(placeKey(call.place)) ?? '') ?? call.place.line;
  }

  /** The body of the call had begun. */
  hadStarted(call: CallPart): boolean {
    return this.#started.has(`${this.#stepOf.get(placeKey(call.place)) ?? ''} ${call.id}`);
  }

  #takeStep(line: number, type: string, data: JsonObject): void {
    const key = `${String(data['turn'])}/${String(data['step'])}`;
    switch (type) {
      case 'step.opened':
        this.#model = asText(data['model']) || this.#model;
        this.#step = { key, model: asText(data['model']), parts: [], results: undefined };
        return;
      case 'block.closed':
        return this.#block(key, data, { line, path: ['data', 'part'] });
      case 'answer.completed': {
        const step = this.#step;
        if (step?.key !== key || step.parts.length === 0) return;
        this.#messages.push(step.parts);
        this.#ends.set(key, line);
        return;
      }
      case 'answer.interrupted': {
        const place = { line, path: ['data', 'parts'] };
        const parts = assistantParts(data['parts'], { place, model: this.#step?.model ?? '' });
        if (parts.length > 0) this.#messages.push([...parts]);
        return;
      }
      case 'call.waiting':
      case 'call.started':
        this.#ids.get(`${key} ${asText(data['id'])}`)?.push({ line, path: ['data', 'id'] });
        if (this.#ends.has(key)) this.#ends.set(key, line);
        if (type === 'call.started') this.#started.add(`${key} ${asText(data['id'])}`);
        return;
      case 'call.finished':
        return this.#result(key, { kind: 'result', role: 'user', id: asText(data['id']), place: { line, path: [] } });
    }
  }

  #commit(item: JsonObject, at: Place): void {
    const id = asText(item['id']);
    const path = [...at.path, 'content'];
    if (item['content'] !== undefined) this.#messages.push([...userParts(item['content'], { line: at.line, path })]);
    else if (this.#content.has(id)) this.#messages.push([...(this.#content.get(id) ?? [])]);
  }

  #block(key: string, data: JsonObject, place: Place): void {
    if (this.#step?.key !== key) return;
    const also: Place[] = [];
    for (const part of assistantPart(asObject(data['part']), { place, model: this.#step.model })) {
      this.#step.parts.push({ ...part, message: key, ...(part.kind === 'call' ? { also } : {}) });
      if (part.kind !== 'call') continue;
      this.#ids.set(`${key} ${part.id}`, also);
      this.#stepOf.set(placeKey(place), key);
    }
  }

  /** Results of one step are one message, however they arrive; one that comes after its step stands where it stands. */
  #result(key: string, part: Part): void {
    if (this.#step?.key !== key) {
      this.#messages.push([part]);
      return;
    }
    this.#ends.set(key, part.place.line);
    if (this.#step.results === undefined) {
      this.#step.results = [];
      this.#messages.push(this.#step.results);
    }
    this.#step.results.push(part);
  }

  #replace(data: JsonObject, line: number): void {
    const made = asList(data['messages']).map((message, index) => replacedParts(asObject(message), line, index));
    const from = Number(data['from']);
    const to = Number(data['to']);
    this.#messages = [...this.#messages.slice(0, from), ...made, ...this.#messages.slice(to)];
  }
}

function placeKey({ line, path }: Place): string {
  return `${line} ${path.join(' ')}`;
}

/** Messages of a replaced history are counted by later events: none can be added, so an open call goes. */
function replacedParts(message: JsonObject, line: number, index: number): Part[] {
  const path = ['data', 'messages', index, 'content'];
  const place = { line, path };
  if (message['role'] === 'assistant') {
    const parts = assistantParts(message['content'], { place, model: asText(message['model']) });
    return parts.map((part) => (part.kind === 'call' ? { ...part, fixed: true } : part));
  }
  if (message['role'] !== 'tool') return [...userParts(message['content'], place)];
  return asList(message['content']).map((each, at) => ({
    kind: 'result',
    role: 'user',
    id: asText(asObject(each)['id']),
    place: { line, path: [...path, at] },
  }));
}

function userParts(content: unknown, place: Place): readonly Part[] {
  const list = asList(content);
  if (list.length === 0) return [{ kind: 'nothing', role: 'user', place }];
  return list.map((each, index): Part => {
    const part = asObject(each);
    const base = { role: 'user', place: { line: place.line, path: [...place.path, index] } } as const;
    if (part['type'] !== 'media') return { ...base, kind: 'text', blank: asText(part['text']).trim() === '' };
    const image = asText(part['mediaType']).startsWith('image/');
    return { ...base, kind: 'media', image, size: base64Size(asText(part['data'])), within: false };
  });
}

function base64Size(data: string): number {
  if (data.startsWith('data:')) return data.length - data.indexOf(',') - 1;
  return /^[a-z]+:/.test(data.slice(0, 20)) ? 0 : data.length;
}

interface Origin {
  readonly place: Place;
  readonly model: string;
}

function assistantParts(content: unknown, { place, model }: Origin): readonly Part[] {
  return asList(content).flatMap((each, index) => {
    const path: JsonPath = [...place.path, index];
    return assistantPart(asObject(each), { place: { line: place.line, path }, model });
  });
}

function assistantPart(part: JsonObject, { place, model }: Origin): readonly Part[] {
  const base = { role: 'assistant', place } as const;
  switch (asText(part['type'])) {
    case 'thinking': {
      const sealed = part['opaque'] !== undefined;
      return [{ ...base, kind: 'thinking', blank: asText(part['text']) === '', sealed, origin: model }];
    }
    case 'call': {
      const asked = shortJson(part['input']);
      const call = { ...base, kind: 'call', id: asText(part['id']), tool: asText(part['tool']) } as const;
      return [asked === undefined ? call : { ...call, asked }];
    }
    case 'text':
      return [{ ...base, kind: 'text', blank: asText(part['text']).trim() === '' }];
    default:
      return [{ ...base, kind: 'other' }];
  }
}
