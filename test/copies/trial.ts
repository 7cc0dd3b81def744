import type { Person } from '@parley/test'
import type { Chooser } from '../src/chooser.ts'
import type { TestServer } from '../src/test-server.ts'
import { compare, type Difference } from './compare.ts'
import { KeptCopy } from './kept-copy.ts'
import { createWorld, live, type World } from './world.ts'

export interface Trial {
  differences: Difference[]
  /** The number of compared copies, and the number of their lost connections. */
  copies: number
  reconnections: number
  /** The number of reloads of tabs, which continued from their store. */
  reloads: number
}

/**
 * People use all functions at the same time. Meanwhile copies are created, open channels, and lose their connections,
 * their cursors and their rights. After the last operation each copy is compared with newly fetched data.
 */
export async function tryCopies(server: TestServer, seed: number, steps: number): Promise<Trial> {
  const world = await createWorld(server, seed)
  const copies: KeptCopy[] = []
  try {
    const living = Promise.all(
      world.people.map((person) => {
        const chooser = world.chooser.fork()
        return live(world, person, steps, async () => {
          if (chooser.chance(0.05)) copies.push(await openCopy(world, person, chooser))
        })
      }),
    )
    await Promise.all([living, unsettle(world, copies, living)])
    for (const person of world.people) copies.push(await openCopy(world, person, world.chooser))

    const end = await cursorOfTheEnd(world)
    const differences = await Promise.all(
      copies.map(async (each) => {
        await each.settled(end)
        return compare(each)
      }),
    )
    const reconnections = copies.reduce((sum, each) => sum + each.reconnections, 0)
    const reloads = copies.reduce((sum, each) => sum + each.reloads, 0)
    return { differences: differences.flat(), copies: copies.length, reconnections, reloads }
  } finally {
    for (const { close } of copies) close()
    // Other tests share the installation, and need its single admin.
    for (const { id } of world.people.slice(1)) await world.ada.put(`/users/${id}/role`, { role: 'member' })
  }
}

/** Closes connections again and again, some of them with a lost cursor, and opens other channels in the copies. */
async function unsettle(
  { chooser, sent, channels, pair, people }: World,
  copies: KeptCopy[],
  living: Promise<unknown>,
) {
  const { any, chance } = chooser.fork()
  let isOver = false
  const end = () => {
    isOver = true
  }
  living.then(end, end)
  while (!isOver) {
    // About the duration of a request.
    await people[0]!.get('/health')
    if (copies.length === 0) continue
    const copy = any(copies)
    if (chance(0.25)) copy.cut({ lost: chance(0.25) })
    if (copy.browser !== undefined && chance(0.08)) await copy.reload()
    if (chance(0.12)) await copy.openThread(any(sent))
    if (chance(0.12)) await copy.loadOlder(any([...channels.slice(0, 3), pair]).id)
  }
}

async function openCopy(
  { channels, pair, sent, server, seed }: World,
  person: Person,
  chooser: Chooser,
): Promise<KeptCopy> {
  const { any, chance, fork } = chooser
  // Every second copy is a tab of the person's browser.
  const scope = chance(0.4) ? 'joined' : 'all'
  const browser = chance(0.5) ? `${server.baseUrl} ${seed} ${person.id} ${scope}` : undefined
  const kept = new KeptCopy(person, { pageSize: chance(0.33) ? 5 : 200, scope, browser }, fork())
  await kept.copy.ready
  for (const { id } of channels.slice(0, 3)) {
    await kept.open(id)
    await kept.openPins(id)
  }
  await kept.open(pair.id)
  await kept.openThread(any(sent))
  return kept
}

/** The last change, whose event everybody receives, independent of their rights. */
async function cursorOfTheEnd({ ada, server }: World): Promise<string> {
  const name = server.unique('the end')
  const stream = await ada.opensStream()
  await ada.put('/server/settings', { name })
  const { cursor } = await stream.waitFor('UPDATE_SERVER_SETTINGS', { name })
  await stream.close()
  return cursor!
}
