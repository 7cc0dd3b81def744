import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Person } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'

let installation: Installation
beforeAll(async () => {
  installation = await launch('solo')
})
afterAll(() => installation?.discard())

const uploads = 20
const fileBytes = 25 * 1024 * 1024

test.skipIf(process.platform !== 'linux')(
  'twenty of the largest uploads at once are stored or refused, in bounded memory',
  { timeout: 180_000 },
  async () => {
    const people = await Promise.all(
      Array.from({ length: uploads }, (_, n) => Person.signIn(installation.baseUrl, `uploader-${n}@example.com`)),
    )
    const body = JSON.stringify({
      filename: 'large.txt',
      contentType: 'text/plain',
      file: Buffer.from(randomBytes(fileBytes / 2).toString('hex')).toString('base64'),
    })
    const before = await peakOf(installation)
    const responses = await Promise.all(people.map((person) => person.post('/files', body)))
    const grown = (await peakOf(installation)) - before

    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(statuses).toContain(200)
    for (const { status, headers } of responses) if (status === 503) expect(headers['retry-after']).toBeDefined()
    // All bodies together have 667 MB. The server accepts 144 MB at a time.
    expect(grown).toBeLessThan(450 * 1024 * 1024)
  },
)

/** The most memory that the process has ever held, in bytes. */
async function peakOf({ pid }: Installation): Promise<number> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))!
  return Number(kilobytes) * 1024
}
