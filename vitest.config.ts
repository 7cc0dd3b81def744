import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest tests, which are partly covered by others. `TEST_LONG=1 npm test` runs them too. */
const long = [
  'test/backup/**',
  'test/client/cluster.test.ts',
  'test/deploy/image.test.ts',
  'test/faults/send-stream.test.ts',
  'test/hostile/cluster.test.ts',
  'test/proxy/**',
  'test/storage/upload-memory.test.ts',
  'test/web/other-browsers.test.ts',
  'test/web/scrolling.test.ts',
]

/**
 * The files that take long begin first: at the end one of them would keep a processor busy while the other has nothing
 * to do. Vitest begins with the largest files, which are not always the slowest.
 */
const slowest = [
  'test/journeys/cluster',
  'test/web/contract',
  'test/journeys/solo',
  'test/hostile/solo',
  'test/history/trial',
  'test/exhaustion/exhaustion',
  'services/integrations/src/subscriptions/subscriptions',
  'services/messaging/src/search/search',
]

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = slowest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return found < 0 ? slowest.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

const root = import.meta.dirname

/** Each of them needs a process for itself: OpenTelemetry's SDK can be started once in a process. */
const alone = [
  ...globSync('{libs,services}/*/src/**/*.test.ts', { cwd: root }).filter((file) =>
    readFileSync(path.join(root, file), 'utf8').includes('startNodeSdk('),
  ),
  'test/telemetry/one-trace.test.ts',
]
const exclude = [...configDefaults.exclude, ...(process.env.TEST_LONG ? [] : long)]

/**
 * Files of a project share their processes, so that the server is imported once for many files: importing it takes longer than most
 * of their tests.
 */
const project = (name: string, include: string[], excluded: string[], maxWorkers: number, groupOrder: number) => ({
  extends: true as const,
  test: { name, include, exclude: [...exclude, ...excluded], isolate: false, maxWorkers, sequence: { groupOrder } },
})

export default defineConfig({
  test: {
    globalSetup: 'test/src/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 300_000,
    // A patience, not a goal: what is waited for comes at once but on a machine that is busy with something else.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    sequence: { sequencer: SlowestFirst },
    projects: [
      // They start processes of the server, which keep both processors busy.
      project('processes', ['{test,deploy}/**/*.test.ts'], alone, 2, 0),
      { extends: true, test: { name: 'alone', include: alone, maxWorkers: 2, sequence: { groupOrder: 0 } } },
      // The server is in the process of the tests. They often wait, so five files run side by side on two processors.
      project('one process', ['{libs,services}/**/*.test.ts'], alone, 5, 1),
    ],
  },
})
