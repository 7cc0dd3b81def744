import { inject, TestRunner, test } from 'vitest'
import { notRun } from './not-run.ts'

/** In milliseconds since the beginning of the run. Files that begin before it may take five minutes each. */
const lastBeginning = 14 * 60_000

/**
 * Runs the further tests of `vitest.config.ts` as long as there is time for them: a file that would begin too late is
 * skipped. `TEST_LONG=1` runs all of them.
 */
export default class FurtherTests extends TestRunner {
  override importFile(...[file, source]: Parameters<TestRunner['importFile']>): unknown {
    const isLate = Date.now() - inject('begunAt') > lastBeginning
    if (source === 'collect' && isLate && !process.env.TEST_LONG) return test.skip(notRun, () => {})
    return super.importFile(file, source)
  }
}
