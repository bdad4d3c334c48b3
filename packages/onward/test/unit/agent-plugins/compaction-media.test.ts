import { afterEach, describe, expect, test } from 'vitest';
import { compaction } from '../../../src/agent/plugins/compaction/index.ts';
import type { ModelRequest, Plugin } from '../../../src/agent/plugin.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { openAgent } from '../../../src/library/agent/index.ts';
import { createScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts';
import { badImage, long, overflows, recordsOf } from './compaction-kit.ts';
import { endRigs, startRig } from './loop-rig.ts';

const image = (bytes: number): { readonly type: 'media'; readonly mediaType: string; readonly data: string } => ({
  type: 'media',
  mediaType: 'image/png',
  data: 'A'.repeat(Math.ceil(bytes / 3) * 4),
});
const hasImage = (request: ModelRequest, bytes = 0): boolean =>
  request.messages.some(({ content }) =>
    content.some((part) => part.type === 'media' && (part.data.length * 3) / 4 > bytes),
  );

afterEach(endRigs);

describe('an image that the provider does not take', () => {
  test('R56 is repaired once, with all else of the request the same, and then it stops', async () => {
    const model = createScriptedModel(['noted', [{ fail: badImage }], [{ fail: badImage }]]);
    const rig = await startRig({ model, plugins: [compaction({ pressure: false })] });
    await rig.settle(rig.agent.followup(long('old')).orThrow());
    const ended = await rig.settle(rig.agent.followup([{ type: 'text', text: 'look' }, image(300)]).ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'input', failure: badImage });
    expect(model.requests).toHaveLength(3);
    const [refused, repaired] = [model.requests[1], model.requests[2]];
    expect({ ...repaired, messages: [] }).toEqual({ ...refused, messages: [] });
    expect(repaired?.messages.slice(0, -1)).toEqual(refused?.messages.slice(0, -1));
    expect(repaired?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'look' },
      { type: 'text', text: expect.stringMatching(/image\/png/u) as unknown },
    ]);
    expect(recordsOf(await rig.events(), 'compaction.started')).toMatchObject([{ why: 'media' }]);
  });

  test('R56 stops also where every attempt brings another image', async () => {
    const bringing: Plugin = {
      name: 'bringing',
      setup(host) {
        host.on('agent/request-error', async (_, next) => {
          host.inject([image(300)]);
          return await next();
        });
      },
    };
    const model = createScriptedModel((_, nth) => (nth > 20 ? 'done' : [{ fail: badImage }]));
    const rig = await startRig({ model, plugins: [bringing, compaction({ pressure: false })] });
    const ended = await rig.settle(rig.agent.followup([{ type: 'text', text: 'look' }, image(300)]).ended);
    expect(ended).toMatchObject({ kind: 'failed', class: 'input', failure: badImage });
    expect(model.requests.length).toBeLessThanOrEqual(3);
  });

  test('R56 costs its own requests only: what a summary used counts against the limits of the session', async () => {
    const summary: ScriptedStep = ['short', { finish: 'stop', usage: { inputTokens: 900, outputTokens: 100 } }];
    for (const [tokens, kind] of [
      [1_000, 'limit'],
      [1_001, 'done'],
    ] as const) {
      const model = createScriptedModel(['noted', overflows, summary, 'done']);
      const plugins = [compaction({ pressure: false })];
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const rig = await startRig({ model, plugins, limits: { session: { tokens } } });
      // oxlint-disable-next-line no-await-in-loop
      await rig.settle(rig.agent.followup(long('old')).orThrow());
      // oxlint-disable-next-line no-await-in-loop
      expect(await rig.settle(rig.agent.followup('go').ended)).toMatchObject({ kind });
      // oxlint-disable-next-line no-await-in-loop
      await endRigs();
    }
  });

  test.each<[string, Failure]>([
    ['names the image', badImage],
    ['only says that the request is invalid', { message: 'Bad', status: 400, type: 'invalid_request_error' }],
    ['says that the request is too large', { message: 'Too large', status: 413, type: 'request_too_large' }],
  ])(
    'R57 of 6 MB in the history does not poison it: the next prompt works, where the provider %s',
    async (_, failure) => {
      const answer = (request: ModelRequest): ScriptedStep =>
        hasImage(request, 5_000_000) ? [{ fail: failure }] : 'done';
      const poisoned = await startRig({ model: createScriptedModel(answer), plugins: [], compaction: false });
      const first = [{ type: 'text', text: 'look' } as const, image(6_000_000), image(300)];
      expect(await poisoned.settle(poisoned.agent.followup(first).ended)).toMatchObject({ kind: 'failed' });
      expect(await poisoned.settle(poisoned.agent.followup('again').ended)).toMatchObject({ kind: 'failed' });
      const model = createScriptedModel(answer);
      await poisoned.agent[Symbol.asyncDispose]();
      const { journal, clock } = poisoned;
      const agent = await openAgent('s', { model, journal, ports: { clock }, retry: false });
      expect(await poisoned.settle(agent.followup('only text').orThrow())).toBe('done');
      expect(model.requests.map((request) => hasImage(request, 5_000_000))).toEqual([true, false]);
      // What is not too large stays.
      expect(model.requests.map((request) => hasImage(request))).toEqual([true, true]);
      expect(await poisoned.settle(agent.followup('more').orThrow())).toBe('done');
      expect([model.requests.length, model.refused]).toEqual([3, []]);
      await agent[Symbol.asyncDispose]();
    },
    30_000,
  );
});
