/** What is known of an error, its causes included. */
export interface ErrorFacts {
  readonly name: string;
  readonly message: string;
  readonly status?: number;
  readonly code?: string;
  /** The class that Onward gave it. */
  readonly class?: string;
}

/** How a program said that it ended. */
export interface Report {
  /** The final text; absent where it ended in an error. */
  readonly text?: string;
  readonly error?: ErrorFacts;
  /** An error that only a callback heard of. */
  readonly hidden?: ErrorFacts | undefined;
  /** Everything that was streamed, superseded pieces included. */
  readonly raw: string;
  readonly onScreen?: string;
  readonly printed?: string;
}

/** Looks for a status and a code on the error and on what caused it. */
export function errorFacts(error: unknown): ErrorFacts {
  const chain: Record<string, unknown>[] = [];
  for (
    let one: unknown = error;
    isRecord(one) && chain.length < 6;
    one = one['cause'] ?? one['lastError'] ?? one['failure']
  )
    chain.push(one);
  const find = (key: string, type: string): unknown =>
    chain.map((one) => one[key]).find((value) => typeof value === type);
  const status = find('status', 'number') ?? find('statusCode', 'number');
  const code = find('code', 'string');
  const failureClass = find('class', 'string');
  return {
    name: text(chain[0]?.['name'], 'Error'),
    message: text(chain[0]?.['message'], 'no message').slice(0, 300),
    ...(typeof status === 'number' ? { status } : {}),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof failureClass === 'string' ? { class: failureClass } : {}),
  };
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
