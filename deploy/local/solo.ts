/** `npm start`: everything in one process, on a PostgreSQL and a Redis of its own unless others are named. */
import { exposeMetrics, openDeps } from '@parley/service'
import { shutdownTelemetry } from '@parley/telemetry'
import { composeSolo } from './compose.ts'
import { layFoundation } from './foundation.ts'
import { greeting } from './greeting.ts'
import { launch } from './launcher.ts'

await launch(async (launcher) => {
  const { config, databaseUrlOf } = await layFoundation(launcher, { argv: process.argv.slice(2) })
  await launcher.done(shutdownTelemetry)

  const { deps, signedInAt, close } = openDeps('parley', config)
  await launcher.done(close)
  const metrics = await exposeMetrics(config, deps.metrics)
  await launcher.done(async () => metrics?.close())

  const solo = await composeSolo(deps, databaseUrlOf && ((role) => signedInAt(databaseUrlOf(role))))
  await launcher.done(() => solo.stop())
  launcher.say(greeting(config, await solo.start()))
})
