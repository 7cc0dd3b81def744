import { configDefaults, defineConfig } from 'vitest/config'

/**
 * What takes longest and is covered in part by the others; `TEST_LONG=1 npm test` runs it too. Everything together takes more than
 * the twenty minutes that a run on two cores may take.
 */
const long = ['test/backup/**', 'test/proxy/**', 'test/hostile/cluster.test.ts', 'test/faults/send-stream.test.ts']

export default defineConfig({
  test: {
    include: ['{libs,services,test,deploy}/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(process.env.TEST_LONG ? [] : long)],
    globalSetup: 'test/src/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // A patience, not a goal: what is waited for comes at once but on a machine that is busy with something else.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    maxWorkers: 2,
  },
})
