import { type Edit, editJson } from './json-edit.ts';
import type { JsonPath, Place } from './message-form.ts';

/** Edits gathered by line. Replacements come first, so that what is taken out of a line afterwards has them. */
export class LineEdits {
  readonly #replace = new Map<number, Edit[]>();
  readonly #remove = new Map<number, Edit[]>();

  /** Puts JSON in place of a value. Of two at one place the later counts. */
  replace(place: Place, text: string, within: JsonPath = []): void {
    const at = [...place.path, ...within];
    const others = (this.#replace.get(place.line) ?? []).filter((edit) => edit.at.join('\0') !== at.join('\0'));
    this.#replace.set(place.line, [...others, { at, do: 'replace', text }]);
  }

  /** Takes an element out of its array. */
  remove({ line, path }: Place): void {
    this.#remove.set(line, [...(this.#remove.get(line) ?? []), { at: path, do: 'remove' }]);
  }

  /** Puts JSON behind an element of an array. */
  addAfter({ line, path }: Place, text: string): void {
    this.#remove.set(line, [...(this.#remove.get(line) ?? []), { at: path, do: 'add-after', text }]);
  }

  /** Forgets what was to be taken out of the array at this place. */
  keep({ line, path }: Place): void {
    const prefix = path.join('\0');
    const rest = (this.#remove.get(line) ?? []).filter(({ at }) => at.slice(0, -1).join('\0') !== prefix);
    this.#remove.set(line, rest);
  }

  /** How many elements are taken out of the array at `path`. */
  removedFrom(line: number, path: JsonPath): number {
    const prefix = path.join('\0');
    const gone = (this.#remove.get(line) ?? []).filter(
      ({ at, do: how }) => how === 'remove' && at.slice(0, -1).join('\0') === prefix,
    );
    return new Set(gone.map(({ at }) => at.at(-1))).size;
  }

  /** Numbers of all lines with an edit. */
  get lines(): ReadonlySet<number> {
    return new Set([...this.#replace.keys(), ...this.#remove.keys()]);
  }

  /** The line with its replacements, and nothing else. */
  replaced(line: number, text: string): string {
    return editJson(text, this.#replace.get(line) ?? []);
  }

  /** The line with everything done. */
  apply(line: number, text: string): string {
    return editJson(this.replaced(line, text), this.#remove.get(line) ?? []);
  }
}
