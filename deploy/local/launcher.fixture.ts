/** A launcher with a step that never ends, for a test that stops it. */
import { launch } from './launcher.ts'

await launch(async (launcher) => {
  await launcher.done(() => launcher.say('The database has ended'))
  await launcher.done(() => new Promise<void>(() => {}))
  setInterval(() => {}, 60_000)
  process.send!('ready')
})
