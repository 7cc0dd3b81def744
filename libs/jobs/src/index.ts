export type { QueueOptions } from './queue.ts'
export { createWorker, type JobWorker, type WorkerOptions } from './worker.ts'
