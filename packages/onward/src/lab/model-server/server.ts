import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Play } from './answer-request.ts';
import { checkScript } from './check-script.ts';
import { refusalAfter } from './choose-fault.ts';
import type { LabClock } from './clock.ts';
import { systemClock } from './clock.ts';
import { LabError } from './lab-error.ts';
import type { OtherRequest, RequestRecord } from './request-log.ts';
import { RequestLog } from './request-log.ts';
import { route } from './route.ts';
import type { Script } from './script.ts';
import type { TurnScript } from './turn-script.ts';
import { toPlayed } from './turn-script.ts';

/** How to start a model server. */
export interface ModelServerOptions {
  /** A task for agents with a shell tool, or a plain list of answers for any caller. */
  readonly script: Script | TurnScript;
  /** A free port unless given. */
  readonly port?: number;
  readonly clock?: LabClock;
  /** Part of every id the server makes up. Random unless given, since ids of two servers may meet in one session. */
  readonly idSeed?: string;
}

/** A model provider on loopback that plays a script. Dispose of it to end every connection and free the port. */
export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, without a path: what `ANTHROPIC_BASE_URL` takes; OpenAI clients want `/v1` behind it. */
  readonly url: string;
  readonly port: number;
  /** Every main request since the server started, in order of arrival. A live list: records change as answers go on. */
  readonly requests: readonly RequestRecord[];
  /** Probes, token counts, titles, compactions and unknown paths. */
  readonly otherRequests: readonly OtherRequest[];
  /** Plays another script from its first request on. Throws `LabError` if the script makes no sense. */
  setScript(script: Script | TurnScript): void;
  /** No more faults: the task and the temperament stay, and a closed port opens again. */
  heal(): Promise<void>;
  /** Closes the port: connections are refused, open ones reset. */
  refuse(): Promise<void>;
  /** Opens the same port again. */
  accept(): Promise<void>;
  /** Resolves as soon as `holds` is true of the requests; checked whenever one arrives or changes. */
  until(holds: (requests: readonly RequestRecord[]) => boolean, signal?: AbortSignal): Promise<void>;
}

/**
 * Starts a model server on 127.0.0.1. It speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions, streaming and
 * not, and plays the script's task, temperament and faults. Throws `LabError` for a bad script or a port that cannot be had.
 */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  checkScript(options.script);
  const seed = options.idSeed ?? randomBytes(5).toString('hex');
  let count = 0;
  const play: Play = {
    clock: options.clock ?? systemClock,
    log: new RequestLog(),
    id: (prefix) => `${prefix}_lab${seed}${String((count += 1)).padStart(5, '0')}`,
    script: toPlayed(options.script),
    counts: { main: 0, subagent: 0 },
    given: 0,
  };
  const listener = new Listener(play);
  await listener.open(options.port ?? 0);
  await listener.refuseIfDue();
  return toModelServer(play, listener);
}

function toModelServer(play: Play, listener: Listener): ModelServer {
  return {
    url: `http://127.0.0.1:${listener.port}`,
    port: listener.port,
    requests: play.log.main,
    otherRequests: play.log.others,
    setScript(script) {
      checkScript(script);
      play.script = toPlayed(script);
      play.counts = { main: 0, subagent: 0 };
      play.given = 0;
      void listener.refuseIfDue();
    },
    async heal() {
      const { faults: _faults, seeded: _seeded, ...rest } = play.script;
      play.script = rest;
      await listener.open(listener.port);
    },
    refuse: () => listener.shut(),
    accept: () => listener.open(listener.port),
    until: (holds, signal) => play.log.until(() => holds(play.log.main), signal),
    [Symbol.asyncDispose]: () => listener.dispose(),
  };
}

/** The port: open or shut, any number of times. Changes happen one after another. */
class Listener {
  port = 0;
  readonly #play: Play;
  readonly #server: Server;
  #change: Promise<void> = Promise.resolve();
  #cancelReopen: () => void = () => undefined;
  #disposed = false;

  constructor(play: Play) {
    this.#play = play;
    this.#server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      response.once('close', () => {
        void this.refuseIfDue();
      });
      // A client that goes away while its body is read leaves nobody to answer.
      route(play, request, response).catch(() => response.destroy());
    });
  }

  async open(port: number): Promise<void> {
    this.#cancelReopen();
    await this.#next(async () => {
      if (this.#disposed) throw new LabError('lab.closed', 'This model server is closed.', ['Start a new one.']);
      if (this.#server.listening) return;
      await listen(this.#server, port);
      this.port = (this.#server.address() as AddressInfo).port;
    });
  }

  async shut(): Promise<void> {
    await this.#next(async () => {
      if (!this.#server.listening) return;
      const closed = new Promise<void>((resolve) => {
        this.#server.close(() => resolve());
      });
      this.#server.closeAllConnections();
      await closed;
    });
  }

  /** Closes the port if the script says so for the number of requests so far. */
  async refuseIfDue(): Promise<void> {
    const { counts, script, clock } = this.#play;
    const rule = refusalAfter(script, counts.main + counts.subagent);
    if (rule?.fault.kind !== 'refused' || !this.#server.listening || this.#disposed) return;
    // Played once: without the rule the port would shut again after the next probe.
    this.#play.script = { ...script, faults: (script.faults ?? []).filter((each) => each !== rule) };
    const { forMs } = rule.fault;
    await this.shut();
    if (forMs === undefined) return;
    this.#cancelReopen = clock.after(forMs, () => {
      this.open(this.port).catch(() => undefined);
    });
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    this.#cancelReopen();
    await this.shut();
  }

  async #next(act: () => Promise<void>): Promise<void> {
    const turn = this.#change.then(act);
    this.#change = turn.catch(() => undefined);
    await turn;
  }
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error): void => {
      const next = ['Choose another port, or leave it out to get a free one.'];
      reject(new LabError('lab.port-unavailable', `Port ${port} cannot be opened: ${cause.message}.`, next));
    };
    server.once('error', fail);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', fail);
      resolve();
    });
  });
}
