export { createWorker, type JobWorker, type WorkerOptions } from './worker.ts'
