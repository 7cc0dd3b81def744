/** A launcher for the tests to stop, a part of which does not end. */
import { launch } from './launcher.ts'

await launch(async (launcher) => {
  await launcher.done(() => launcher.say('The database has ended'))
  await launcher.done(() => new Promise<void>(() => {}))
  setInterval(() => {}, 60_000)
  process.send!('ready')
})
