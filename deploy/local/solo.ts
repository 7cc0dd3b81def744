/** `npm start`: every service in one process, with an embedded PostgreSQL and Redis unless others are configured. */
import type { DatabaseRole } from '@parley/database'
import { exposeMetrics, keepCompiledCode, openDeps } from '@parley/service'
import { shutdownTelemetry } from '@parley/telemetry'
import { web } from '@parley/web'
import { buildPage } from '@parley/web/build'
import { composeSolo } from './compose.ts'
import { greeting } from './greeting.ts'
import { launch } from './launcher.ts'
import { startServers } from './servers.ts'
import { untilReady } from './supervisor.ts'

await launch(async (launcher) => {
  const { config, databaseUrlOf } = await startServers(launcher, { argv: process.argv.slice(2) })
  await launcher.onStop('telemetry', shutdownTelemetry)

  const { deps, signedInAt, close } = openDeps('parley', config)
  await launcher.onStop('the connections', close)
  const metrics = await exposeMetrics(config, deps.metrics)
  await launcher.onStop('the metrics', async () => metrics?.close())

  await buildPage()
  const depsOf = databaseUrlOf && ((role: DatabaseRole) => signedInAt(databaseUrlOf(role)))
  const solo = await composeSolo(deps, depsOf, [{ plugin: web() }])
  await launcher.onStop('the services', () => solo.stop())
  keepCompiledCode()
  const address = await solo.start()
  await untilReady(address, launcher.stopRequested)
  launcher.say(greeting(config, address))
})
