/**
 * Removes files that the image does not need: the tests, whose packages it does not contain, and the names of emoji in
 * other languages than English.
 */
import { globSync, rmSync } from 'node:fs'

const tests = globSync(['{libs,services,deploy}/**/*.{test,testing,fixture}.ts', '{libs,services}/*/src/**/testing'], {
  exclude: ['**/node_modules/**'],
})
const emojiLanguages = globSync('node_modules/emojibase-data/*/', { exclude: ['**/en'] })
for (const file of [...tests, ...emojiLanguages]) rmSync(file, { recursive: true })
