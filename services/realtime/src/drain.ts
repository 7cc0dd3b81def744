import { setTimeout as delay } from 'node:timers/promises'
import type { Connections } from './connections.ts'

const stepMs = 50

/** Ends all streams, in random order spread over `seconds`, so that their clients do not all come back at once. */
export async function drain(connections: Connections, seconds: number): Promise<void> {
  const waiting = shuffled([...connections.all])
  const steps = Math.max(1, Math.round((seconds * 1_000) / stepMs))
  const perStep = Math.ceil(waiting.length / steps)
  while (waiting.length > 0) {
    for (const connection of waiting.splice(-perStep)) connections.end(connection, 'drain')
    if (waiting.length > 0) await delay(stepMs)
  }
  for (const connection of connections.all) connections.end(connection, 'drain')
}

function shuffled<Item>(items: Item[]): Item[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    const item = items[last]!
    items[last] = items[other]!
    items[other] = item
  }
  return items
}
