/**
 * `node test/copies/run.ts --topology cluster --rounds 20 --seed 7`: runs many rounds. Exits with 1 when a copy was not
 * exact.
 */
import { parseArgs } from 'node:util'
import { launch, type Topology } from '../src/launch.ts'
import { createTestServer } from '../src/test-server.ts'
import { describe } from './compare.ts'
import { tryCopies } from './trial.ts'

const { values } = parseArgs({
  options: {
    topology: { type: 'string', default: 'solo' },
    rounds: { type: 'string', default: '20' },
    /** The seed of the first round. Each further round has the next number. */
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** The number of operations of each person in a round. */
    steps: { type: 'string', default: '40' },
  },
})
const say = (line: string) => void process.stdout.write(`${line}\n`)

const installation = await launch(values.topology as Topology)
const server = createTestServer(() => installation)
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => void installation.discard().finally(() => process.exit(1)))
}
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const seed = Number(values.seed) + round
    const began = performance.now()
    const { differences, copies, reconnections, reloads } = await tryCopies(server, seed, Number(values.steps))
    const seconds = ((performance.now() - began) / 1_000).toFixed(1)
    say(
      `seed ${seed}: ${copies} copies, ${reconnections} reconnections, ${reloads} reloads, ${differences.length} differences, ${seconds} s`,
    )
    for (const difference of differences) say(describe(difference))
    if (differences.length > 0) process.exitCode = 1
  }
} finally {
  await installation.discard()
}
