import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { configurationOf, evaluation, named, production, secretSources, services } from './manifests.ts'
import { type Manifest, root, whyNotRendered } from './rendered.ts'

/** Of the migration, and of four commands of operators at once. */
const ofCommands = 2 + 4 * 2
/** PostgreSQL keeps these for superusers (`superuser_reserved_connections`). */
const reserved = 3

describe.skipIf(whyNotRendered)(`connections of a cluster${whyNotRendered ? ` (${whyNotRendered})` : ''}`, () => {
  test('all pods at their maximum, in the middle of a rollout, stay below what docs/database.md demands', async () => {
    for (const [name, documents] of Object.entries({ production, evaluation })) {
      const connections = await most(documents)
      expect(connections + ofCommands + reserved, name).toBeLessThanOrEqual(demanded(name))
    }
  })

  test('the table of docs/database.md is what the production overlay says', async () => {
    const rows = new Map(
      [...docs.matchAll(/^\| (\w+) \| (\d+)[^|]*\| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(([, name, ...figures]) => [
        name!,
        figures.map(Number),
      ]),
    )
    expect([...rows.keys()].sort()).toEqual(users(production))
    for (const [name, figures] of rows) expect([name, ...figures]).toEqual([name, ...(await partOf(production, name))])
    expect(docs).toContain(`That is ${await most(production)}, and ${ofCommands} for`)
  })

  test('the PostgreSQL of the evaluation overlay allows as many as it is said to need', () => {
    const [container] = named(evaluation, 'StatefulSet', 'postgres')!.spec.template.spec.containers
    expect(container.args).toContain(`max_connections=${demanded('evaluation')}`)
  })
})

const docs = readFileSync(path.join(root, 'docs/database.md'), 'utf8').replace(/\n(?!\n|[|#-])/g, ' ')
const demanded = (overlay: string) => Number(new RegExp(`${overlay} overlay[^:]*: (\\d+)`).exec(docs)![1])

/** Who has a way into PostgreSQL. */
const users = (documents: Manifest[]) =>
  services.filter((name) => secretSources(documents, name).some(({ name }) => name.startsWith('parley-database-')))

/** Size of the pool, pods at most, pods in the middle of a rollout, connections of all of them. */
async function partOf(documents: Manifest[], name: string): Promise<[number, number, number, number]> {
  const { database } = await configurationOf(documents, name)
  const { maxReplicas } = named(documents, 'HorizontalPodAutoscaler', name)!.spec
  const { maxSurge } = named(documents, 'Deployment', name)!.spec.strategy.rollingUpdate
  const pods = maxReplicas + maxSurge
  const forExport = name === 'worker' ? 2 : 0
  return [database.poolSize, maxReplicas, pods, pods * (database.poolSize + forExport)]
}

async function most(documents: Manifest[]): Promise<number> {
  const parts = await Promise.all(users(documents).map((name) => partOf(documents, name)))
  return parts.reduce((sum, [, , , connections]) => sum + connections, 0)
}
