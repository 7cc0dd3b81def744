import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { isDeletion, needsNoToken, takesKey } from '@parley/client'
import { expect, test } from 'vitest'
import { describedOperations, describeRoutes, generatedFile } from './client-routes.ts'

test("the client's route types are those of the OpenAPI description", { timeout: 120_000 }, async () => {
  const biome = path.resolve(import.meta.dirname, '../../node_modules/.bin/biome')
  const described = execFileSync(biome, ['format', '--stdin-file-path=routes.generated.ts'], {
    cwd: path.dirname(generatedFile),
    input: await describeRoutes(),
    encoding: 'utf8',
  })
  expect(await readFile(generatedFile, 'utf8'), 'run: npx node deploy/local/client-routes.ts').toBe(described)
})

test('the client has the list of operations with a key and of those without a token', {
  timeout: 120_000,
}, async () => {
  const operations = await describedOperations()
  const names = (isOne: (operation: (typeof operations)[number]) => boolean) =>
    operations.filter(isOne).map(([name]) => name)
  const keyed = names(([, { parameters = [] }]) => parameters.some(({ name }) => name === 'idempotency-key'))
  expect(names(([name]) => takesKey(name))).toEqual(keyed)
  const open = names(([, operation]) => operation['x-access'] === 'none')
  expect(names(([name]) => needsNoToken(name))).toEqual(open)
})

test('a deletion that the client reports as done has a response without data', { timeout: 120_000 }, async () => {
  const deletions = (await describedOperations()).filter(([name]) => isDeletion(name))
  expect(deletions).not.toEqual([])
  for (const [name, { responses }] of deletions) {
    const schema = responses['200']?.content?.['application/json']?.schema
    expect(Object.keys(schema?.properties ?? {}), name).toEqual(['success'])
  }
})
