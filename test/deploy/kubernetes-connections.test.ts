import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { configurationOf, evaluation, named, production, secretSources, services } from './manifests.ts'
import { type Manifest, root, whyNotRendered } from './rendered.ts'

/** The connections of the migration, and of four concurrent commands of operators. */
const ofCommands = 2 + 4 * 2
/** PostgreSQL reserves these for superusers (`superuser_reserved_connections`). */
const reserved = 3

describe.skipIf(whyNotRendered)(`connections of a cluster${whyNotRendered ? ` (${whyNotRendered})` : ''}`, () => {
  test('all pods at their maximum, in the middle of a rollout, stay below the number in docs/database.md', async () => {
    for (const [name, documents] of Object.entries({ production, evaluation })) {
      const connections = await connectionsOf(documents)
      expect(connections + ofCommands + reserved, name).toBeLessThanOrEqual(demanded(name))
    }
  })

  test('the table of docs/database.md matches the production overlay', async () => {
    const rows = new Map(
      [...docs.matchAll(/^\| (\w+) \| (\d+)[^|]*\| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(([, name, ...figures]) => [
        name!,
        figures.map(Number),
      ]),
    )
    expect([...rows.keys()].sort()).toEqual(users(production))
    for (const [name, figures] of rows)
      expect([name, ...figures]).toEqual([name, ...(await figuresOf(production, name))])
    expect(docs).toContain(`These are ${await connectionsOf(production)} connections, and ${ofCommands} more for`)
  })

  test('the PostgreSQL of the evaluation overlay allows the number in docs/database.md', () => {
    const [container] = named(evaluation, 'StatefulSet', 'postgres')!.spec.template.spec.containers
    expect(container.args).toContain(`max_connections=${demanded('evaluation')}`)
  })
})

const docs = readFileSync(path.join(root, 'docs/database.md'), 'utf8').replace(/\n(?!\n|[|#-])/g, ' ')
const demanded = (overlay: string) => Number(new RegExp(`(\\d+) for the ${overlay} overlay`).exec(docs)![1])

/** The services that connect to PostgreSQL. */
const users = (documents: Manifest[]) =>
  services.filter((name) => secretSources(documents, name).some(({ name }) => name.startsWith('parley-database-')))

/** The size of the pool, the maximum of pods, the pods during a rollout, and the connections of all these pods. */
async function figuresOf(documents: Manifest[], name: string): Promise<[number, number, number, number]> {
  const { database } = await configurationOf(documents, name)
  const { maxReplicas } = named(documents, 'HorizontalPodAutoscaler', name)!.spec
  const { maxSurge } = named(documents, 'Deployment', name)!.spec.strategy.rollingUpdate
  const pods = maxReplicas + maxSurge
  const forExport = name === 'worker' ? 2 : 0
  return [database.poolSize, maxReplicas, pods, pods * (database.poolSize + forExport)]
}

/** The connections of all services when all pods are at their maximum, in the middle of a rollout. */
async function connectionsOf(documents: Manifest[]): Promise<number> {
  const figures = await Promise.all(users(documents).map((name) => figuresOf(documents, name)))
  return figures.reduce((sum, [, , , connections]) => sum + connections, 0)
}
