/**
 * Removes files that the image does not need: the tests, whose packages it does not contain, the sources of the web client,
 * which is built already, and the names of emoji in other languages than English.
 */
import { globSync, rmSync } from 'node:fs'

const tests = globSync(['{libs,services,deploy}/**/*.{test,testing,fixture}.ts', '{libs,services}/*/src/**/testing'], {
  exclude: ['**/node_modules/**'],
})
const pageSources = ['services/web/page', 'services/web/worker', 'tsconfig.base.json']
const emojiLanguages = globSync('node_modules/emojibase-data/*/', { exclude: ['**/en'] })
for (const file of [...tests, ...pageSources, ...emojiLanguages]) rmSync(file, { recursive: true })
