import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the names are read at the first use, and not when the file is imported', async () => {
  const workspace = path.join(import.meta.dirname, '../..')
  // The process may read the files of the service, but not those with the names.
  const program = `
    const { slackReactionName } = await import(${JSON.stringify(path.join(import.meta.dirname, 'emoji-names.ts'))})
    try { slackReactionName('wave') } catch (error) { console.log(error.code) }`
  const flags = ['--permission', `--allow-fs-read=${workspace}`, '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, flags)
  expect(stdout.trim()).toBe('ERR_ACCESS_DENIED')
})
