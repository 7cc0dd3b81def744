import path from 'node:path'
import { settledBytes } from './memory.ts'
import { openParleyStreams } from './parley-streams.ts'
import { seedPeople } from './people.ts'
import { megabytes, type Row } from './report.ts'
import type { Scene } from './scene.ts'
import { type Stores, startParley } from './stores.ts'

const goalKb = 12

/** Measures the memory of a stream without events. Each stream belongs to another person, who has their own session. */
export async function measureMemory(scene: Scene, stores: Stores): Promise<Row[]> {
  const count = stores.options.idleStreams
  const people = await seedPeople(stores, count)
  const node = await startParley(scene, stores, 'services/realtime/src/main.ts', {
    nodeFlags: ['--expose-gc', '--import', path.join(import.meta.dirname, 'collect-garbage.ts')],
  })
  // The count starts with a process that has not served anything yet, so code that the first streams load and compile
  // is counted too.
  const before = await settledBytes(node.pid)
  const streams = await scene.keep(
    () => openParleyStreams(node.port, people, count),
    (opened) => opened.close(),
  )
  const after = await settledBytes(node.pid)
  streams.check()

  const kb = (after - before) / count / 1024
  return [
    {
      part: 'memory',
      work: `memory per idle stream, ${count.toLocaleString('en')} streams`,
      ours: `${kb.toFixed(1)} KB (${megabytes(before)} → ${megabytes(after)} resident)`,
      against: 'Centrifugo, as published',
      theirs: '10.9 KB tuned, ~27 KB default',
      ratio: `${(kb / 10.9).toFixed(2)}× of tuned`,
      goal: `≤ ${goalKb} KB`,
      met: kb <= goalKb,
      figures: { before, after, count },
    },
  ]
}
