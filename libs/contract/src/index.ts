export * from './errors.ts'
export * from './events.ts'
export * from './jobs.ts'
export * from './resources.ts'
