import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { describeRoutes, generatedFile } from './client-routes.ts'

test("the client's route types are those of the OpenAPI description", { timeout: 120_000 }, async () => {
  const biome = path.resolve(import.meta.dirname, '../../node_modules/.bin/biome')
  const described = execFileSync(biome, ['format', '--stdin-file-path=routes.generated.ts'], {
    cwd: path.dirname(generatedFile),
    input: await describeRoutes(),
    encoding: 'utf8',
  })
  expect(await readFile(generatedFile, 'utf8'), 'run: npx node test/clien./client-routes.ts').toBe(described)
})
