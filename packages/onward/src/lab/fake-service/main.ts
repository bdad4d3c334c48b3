import type { ServiceBehaviour } from './behaviour.ts';
import { startFakeService } from './server.ts';

// A fake service in a process of its own: node main.ts [BEHAVIOUR], which is JSON. Prints `{ "url": ... }` when it listens, and
// ends with its standard input, so that it never outlives whoever started it.

const service = await startFakeService({ behaviour: JSON.parse(process.argv[2] ?? '{}') as ServiceBehaviour });
console.log(JSON.stringify({ url: service.url }));
process.stdin.resume().once('close', () => {
  void service[Symbol.asyncDispose]();
});
