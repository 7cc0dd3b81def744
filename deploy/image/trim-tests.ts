/** Removes the tests from the image, which does not contain the packages that they import. */
import { globSync, rmSync } from 'node:fs'

const tests = globSync(['{libs,services,deploy}/**/*.{test,testing,fixture}.ts', '{libs,services}/*/src/**/testing'], {
  exclude: ['**/node_modules/**'],
})
for (const file of tests) rmSync(file, { recursive: true })
