import { inject, TestRunner, test } from 'vitest'
import { notRun } from './not-run.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** How long after the beginning of the run a file of this project may begin, in milliseconds. */
    lastBeginning: number
  }
}

/** Runs the files of a project as long as there is time for them. `TEST_LONG=1` runs all of them. */
export default class TimedTests extends TestRunner {
  override importFile(...[file, source]: Parameters<TestRunner['importFile']>): unknown {
    const isLate = Date.now() - inject('begunAt') > inject('lastBeginning')
    if (source === 'collect' && isLate && !process.env.TEST_LONG) return test.skip(notRun, () => {})
    return super.importFile(file, source)
  }
}
