/** A service without routes and without servers, for a test that starts and stops it. */
import { runService } from './run.ts'

await runService(
  'test',
  () => {
    // biome-ignore lint/suspicious/noConsole: as libraries do
    console.warn('the policy is %s', 'allkeys-lru')
    return { usesDatabase: false }
  },
  { unused: ['redis'] },
)
