export type { LookupBehaviour, ServiceBehaviour, Treatment } from './behaviour.ts';
export type { Acceptance, ServiceRequest } from './effect-book.ts';
export { type FakeService, type FakeServiceOptions, startFakeService } from './server.ts';
