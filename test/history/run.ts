/**
 * `node test/history/run.ts --minutes 10 --seed 7 --postgres-crash-every 40`: a long run. Exits with 1 when a guarantee
 * was broken.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { runTrial } from './trial.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    /**
     * Seconds between crashes of PostgreSQL, in addition to the other faults. Without it PostgreSQL gets faults like
     * the other processes.
     */
    'postgres-crash-every': { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** The file for the history, as JSON. */
    history: { type: 'string' },
  },
})
const say = (line: string) => void process.stdout.write(`${line}\n`)

say(`seed ${values.seed}, ${values.minutes} minutes`)
const crashEvery = values['postgres-crash-every']
const trial = await runTrial({
  seed: Number(values.seed),
  milliseconds: Number(values.minutes) * 60_000,
  ...(crashEvery === undefined ? {} : { postgresCrashEveryMs: Number(crashEvery) * 1_000 }),
  log: say,
})
say(trial.report)
say(`broken promises: ${trial.violations.length}`)
for (const [promise, violations] of Map.groupBy(trial.violations, ({ promise }) => promise)) {
  say(`  ${promise}: ${violations.length}`)
  for (const { what } of violations.slice(0, 20)) say(`    ${what}`)
}
if (values.history) {
  const { operations, readings, events } = trial.history
  await writeFile(values.history, JSON.stringify({ operations, readings, events: [...events] }))
}
process.exitCode = trial.violations.length === 0 ? 0 : 1
