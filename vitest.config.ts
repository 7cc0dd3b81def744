import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{libs,services,test,deploy}/**/*.test.ts'],
    globalSetup: 'test/src/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
})
