/** What a program printed, in bounded memory: the first and the last half of the bytes that may be kept. */
export interface OutputBuffer {
  add(part: Buffer): void;
  /** Bytes that came, kept or not. */
  bytes(): number;
  /** What came first. */
  head(): string;
  /** What was kept, with a line that says how much is missing in the middle. */
  text(): string;
}

/** An empty buffer that keeps at most `maxBytes`, and at most one part more while it works. */
export function createOutputBuffer(maxBytes: number): OutputBuffer {
  const whole: Buffer[] = [];
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let bytes = 0;
  let isOver = false;
  const half = Math.floor(maxBytes / 2);
  return {
    add(part) {
      const before = bytes;
      bytes += part.length;
      if (bytes <= maxBytes) {
        whole.push(part);
        return;
      }
      const first = isOver ? 0 : Math.max(0, half - before);
      if (first > 0) whole.push(part.subarray(0, first));
      isOver = true;
      tail.push(part.subarray(first));
      tailBytes += part.length - first;
      if (tailBytes <= maxBytes + half) return;
      tail = [Buffer.from(Buffer.concat(tail).subarray(-half))];
      tailBytes = half;
    },
    bytes: () => bytes,
    head: () => Buffer.concat(whole).toString('utf8'),
    text() {
      const kept = Buffer.concat(whole);
      if (!isOver) return kept.toString('utf8');
      const end = Buffer.concat([kept.subarray(half), ...tail]).subarray(-half);
      const left = bytes - Math.min(half, kept.length) - end.length;
      return `${kept.subarray(0, half).toString('utf8')}\n[... ${left} bytes left out ...]\n${end.toString('utf8')}`;
    },
  };
}
