/** A launcher with a step that never ends, for a test that stops it. */
import { launch } from './launcher.ts'

await launch(async (launcher) => {
  await launcher.done('the database', () => launcher.say('The database has ended'))
  await launcher.done('the service', () => new Promise<void>(() => {}))
  setInterval(() => {}, 60_000)
  process.send!('ready')
})
