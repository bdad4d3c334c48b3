/** Where a part stands: a line of the file, counted from 1, and the way to it inside the JSON of that line. */
export interface Place {
  readonly line: number;
  readonly path: JsonPath;
}

/** Names and indexes from the top of a JSON value; empty for the value itself. */
export type JsonPath = readonly (string | number)[];

interface Base {
  readonly role: 'user' | 'assistant';
  readonly place: Place;
  /** What the file counts as one answer, where it says so. */
  readonly message?: string;
  /** Only in the mind of the check: a part that a repair will add. */
  readonly made?: true;
}

/** A text. `blank`: nothing but white space. */
export interface TextPart extends Base {
  readonly kind: 'text';
  readonly blank: boolean;
}

/** Thinking. `sealed`: with a signature or encrypted, which only its `origin` (a model, or a provider) can read. */
export interface ThinkingPart extends Base {
  readonly kind: 'thinking';
  readonly blank: boolean;
  readonly sealed: boolean;
  readonly origin: string;
}

/** A call of a tool. */
export interface CallPart extends Base {
  readonly kind: 'call';
  readonly id: string;
  readonly tool: string;
  /** Equal for calls that ask for the same; absent where that was too long to keep. */
  readonly asked?: string;
  /** It may have several results, or none. */
  readonly results?: 'any' | 'many';
  /** Nothing can be added beside it: without its result it is left out. */
  readonly fixed?: true;
  /** Where else its id stands, besides its result. */
  readonly also?: readonly Place[];
}

/** The result of a call. */
export interface ResultPart extends Base {
  readonly kind: 'result';
  readonly id: string;
}

/** A file inside the message, or (`within`) inside a result. `size`: characters of its base64. */
export interface MediaPart extends Base {
  readonly kind: 'media';
  readonly image: boolean;
  readonly size: number;
  readonly within: boolean;
}

/** A message without any content. */
export interface NothingPart extends Base {
  readonly kind: 'nothing';
}

/** Content that no rule speaks of. */
export interface OtherPart extends Base {
  readonly kind: 'other';
}

/** One piece of what a model is shown. */
export type Part = TextPart | ThinkingPart | CallPart | ResultPart | MediaPart | NothingPart | OtherPart;

/**
 * A conversation as providers see it, whoever wrote it down: its parts in order. There are no messages in it, since neighbours
 * of the same role are one message to a provider.
 */
export type History = readonly Part[];

/** Neighbouring parts of one role: one message. */
export interface Group {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly Part[];
}

/** The messages of a history. */
export function groupsOf(history: History): readonly Group[] {
  const groups: { role: 'user' | 'assistant'; parts: Part[] }[] = [];
  for (const part of history) {
    const last = groups.at(-1);
    if (last?.role === part.role) last.parts.push(part);
    else groups.push({ role: part.role, parts: [part] });
  }
  return groups;
}

/** True where `path` is `outer` or something inside it. */
export function isWithin(path: JsonPath, outer: JsonPath): boolean {
  return outer.every((name, index) => path[index] === name);
}
