/**
 * `npm run bench` measures how fast Parley is, side by side with what it is compared to. `npm run bench -- --help`
 * lists the options.
 */
import { writeFile } from 'node:fs/promises'
import { measureCatchUp } from './catch-up-part.ts'
import { measureClient } from './client-part.ts'
import { measureCost } from './cost-part.ts'
import { measureEndToEnd } from './end-to-end-part.ts'
import { measureFanOut } from './fan-out-part.ts'
import { measureFirstPosts } from './first-posts-part.ts'
import { describeMachine } from './machine.ts'
import { measureMarkup } from './markup-part.ts'
import { measureMemory } from './memory-part.ts'
import { measureModel } from './model-part.ts'
import { type Options, readOptions, usage } from './options.ts'
import { measurePassingEvents } from './passing-events-part.ts'
import { type Row, renderReport } from './report.ts'
import { Interrupted, openScene, type Scene } from './scene.ts'
import { measureScope } from './scope-part.ts'
import { measureSearch } from './search-part.ts'
import { measureDistributed, measureSolo } from './send-part.ts'
import { measureSoak } from './soak-part.ts'
import { type Stores, settingsNote, startStores } from './stores.ts'
import { measureDistributedStorm, measureStorm } from './storm-part.ts'
import { measureSubscriptions } from './subscriptions-part.ts'
import { measureTeam } from './team-part.ts'
import { measureWeb } from './web-part.ts'

/**
 * The parts of the bench, in the order of the table. Each part gets databases of its own, so it finds nothing that
 * another part has left.
 */
const parts: Record<string, (scene: Scene, stores: Stores) => Promise<Row[]>> = {
  send: measureSolo,
  distributed: measureDistributed,
  fanout: measureFanOut,
  endtoend: measureEndToEnd,
  firstposts: measureFirstPosts,
  scope: measureScope,
  cost: measureCost,
  subscriptions: measureSubscriptions,
  markup: measureMarkup,
  catchup: measureCatchUp,
  client: measureClient,
  web: measureWeb,
  memory: measureMemory,
  passing: measurePassingEvents,
  storm: measureStorm,
  stormdistributed: measureDistributedStorm,
  search: measureSearch,
  team: measureTeam,
  model: measureModel,
  soak: measureSoak,
}

/** Parts that measure on full databases. */
const filled = ['search', 'team', 'soak', 'model']

/** Parts that take so long that they only run when `--only` names them. */
const onlyByName = ['soak']

let scene = openScene()
let interrupted = false
/** Ends the bench early. The measurement that runs now fails when its servers end; nothing waits for it. */
const breakOff = (why: string, exitCode: number) => {
  if (interrupted) return
  interrupted = true
  say(why)
  void scene.end().finally(() => process.exit(exitCode))
}
process.on('SIGINT', () => breakOff('Stopping …', 130))
process.on('SIGTERM', () => breakOff('Stopping …', 143))
process.on('uncaughtException', (error) => breakOff(error.stack ?? error.message, 1))

try {
  await run(process.argv.slice(2))
  process.exit()
} catch (error) {
  breakOff((error as Error).stack ?? String(error), 1)
}

async function run(args: string[]): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(usage)
    return
  }
  const options = readOptions(args)
  const unknown = options.only.filter((name) => !Object.hasOwn(parts, name))
  if (unknown.length > 0) throw new Error(`--only: ${unknown.join(', ')} is none of ${Object.keys(parts).join(', ')}`)

  const chosen = Object.keys(parts)
    .filter((name) => (options.only.length === 0 ? !onlyByName.includes(name) : options.only.includes(name)))
    .filter((name) => !options.fill || filled.includes(name))
  const rows: Row[] = []
  let machine: Awaited<ReturnType<typeof describeMachine>> | undefined
  for (const name of chosen) {
    say(`${name} …`)
    const measured = await withStores(options, name, async (stores) => {
      machine ??= await describeMachine(stores)
      return parts[name]!(scene, stores)
    })
    rows.push(...measured)
    for (const { work, ours, theirs, ratio } of measured) say(`  ${work}: ${ours}; against ${theirs}: ${ratio}`)
  }
  const notes = [
    `rounds: ${options.rounds} of ${options.seconds} s a side, in turns; medians, in brackets the least and the most`,
    `settings: ${settingsNote}`,
  ]
  if (options.fill) return say('The databases are filled')
  process.stdout.write(renderReport(machine!, notes, rows))
  if (options.json) await writeFile(options.json, `${JSON.stringify({ machine, options, rows }, null, 2)}\n`)
}

async function withStores(options: Options, name: string, measure: (stores: Stores) => Promise<Row[]>): Promise<Row[]> {
  if (interrupted) throw new Interrupted()
  scene = openScene()
  try {
    return await measure(await startStores(scene, options, name))
  } finally {
    await scene.end()
  }
}

function say(line: string) {
  process.stderr.write(`${line}\n`)
}
