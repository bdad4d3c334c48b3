import { StringDecoder } from 'node:string_decoder';

/** Standard input, as a whole text or line by line. */
export class Input {
  #text = '';
  #pending = '';
  #ended = false;
  #onLine: ((line: string) => void) | undefined;
  readonly #lines: string[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #onText: (text: string) => void;

  /** Starts to read; `onText` sees everything as it comes. */
  constructor(onText: (text: string) => void) {
    this.#onText = onText;
    const decoder = new StringDecoder('utf8');
    process.stdin.on('data', (chunk: Buffer) => this.#take(decoder.write(chunk)));
    process.stdin.on('end', () => this.#end());
    process.stdin.on('error', () => this.#end());
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Everything up to the end of the input. */
  async all(): Promise<string> {
    await this.untilEnd();
    return this.#text;
  }

  /** Resolves at the end of the input. */
  async untilEnd(): Promise<void> {
    if (!this.#ended) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Hands each line to `handle`, the earlier ones first. Blank lines are left out. */
  eachLine(handle: (line: string) => void): void {
    this.#onLine = handle;
    for (const line of this.#lines.splice(0)) handle(line);
  }

  #take(text: string): void {
    this.#onText(text);
    this.#text += text;
    const lines = (this.#pending + text).split('\n');
    this.#pending = lines.pop() ?? '';
    for (const line of lines) this.#deliver(line);
  }

  #deliver(line: string): void {
    if (line.trim() === '') return;
    if (this.#onLine === undefined) this.#lines.push(line);
    else this.#onLine(line);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#deliver(this.#pending);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
