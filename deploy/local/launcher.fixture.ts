/** A launcher for a test that stops it. Its argument says what the stop of the service does: it `hangs` or `fails`. */
import { launch } from './launcher.ts'

const stops: Record<string, () => Promise<void>> = {
  hangs: () => new Promise(() => {}),
  fails: () => Promise.reject(new Error('its files are gone')),
}

await launch(async (launcher) => {
  await launcher.onStop('the database', () => launcher.say('The database has ended'))
  await launcher.onStop('the service', stops[process.argv[2]!]!)
  setInterval(() => {}, 60_000)
  process.send!('ready')
})
