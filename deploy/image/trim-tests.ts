/** Takes the tests out of the image's sources: what they import is not installed there. */
import { globSync, rmSync } from 'node:fs'

const tests = globSync(['{libs,services,deploy}/**/*.{test,testing,fixture}.ts', '{libs,services}/*/src/**/testing'], {
  exclude: ['**/node_modules/**'],
})
for (const file of tests) rmSync(file, { recursive: true })
