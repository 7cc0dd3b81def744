/** A service without routes and without servers, for a test that starts and stops it. */
import { runService } from './run.ts'

await runService('test', () => ({ usesDatabase: false }), { unused: ['redis'] })
