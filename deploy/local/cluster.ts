/** `npm run cluster [-- --replicas N]`: N processes of each service on one machine. SIGUSR2 starts a rolling restart. */
import { takeFlag } from '@parley/config'
import { keepCompiledCode } from '@parley/service'
import { buildPage } from '@parley/web/build'
import { type ProcessPlan, planCluster } from './cluster-plan.ts'
import { greeting } from './greeting.ts'
import { type Launcher, launch, StartRefused } from './launcher.ts'
import { startServers } from './servers.ts'
import { type Supervised, supervise, untilReady } from './supervisor.ts'

const connectionsOfAll = 160

await launch(async (launcher) => {
  const { value, rest } = takeFlag('replicas')
  const replicas = Number(value ?? 1)
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 16) {
    throw new StartRefused('--replicas: must be a whole number from 1 to 16')
  }
  const { value: configFile, rest: argv } = takeFlag('config', rest)
  const { config, databaseUrlOf } = await startServers(launcher, {
    argv: configFile === undefined ? argv : [...argv, `--config=${configFile}`],
    poolSize: Math.max(2, Math.min(10, Math.floor(connectionsOfAll / (6 * replicas)))),
  })

  await buildPage()
  const plan = await planCluster({ config, replicas, configFile, databaseUrlOf })
  launcher.say(`Starting ${plan.length} processes …`)
  const running: { process: ProcessPlan; child: Supervised }[] = []
  // They stop in the reverse order: the gateways first, the relay and the jobs last.
  for (const stage of ['worker', 'service', 'gateway'] as const) {
    const children = plan
      .filter((process) => process.stage === stage)
      .map((process) => ({ process, child: supervise(process, launcher.say) }))
    running.push(...children)
    const names = children.map(({ process }) => process.name).join(', ')
    await launcher.onStop(names, async () => void (await Promise.all(children.map(({ child }) => child.stop()))))
  }

  keepCompiledCode()
  // The gateways come last, because they log errors about services that are still starting.
  for (const stage of [['worker', 'service'], ['gateway']]) {
    const addresses = plan.filter((process) => stage.includes(process.stage)).map(({ address }) => address)
    await Promise.all(addresses.map((address) => untilReady(address, launcher.stopRequested)))
  }
  launcher.say(greeting(config, plan.at(-1)!.address))
  restartOnSignal(launcher, running)
})

/**
 * Starts a rolling restart on SIGUSR2: one replica of each service at a time. SIGHUP is usual for this, but a closed
 * terminal sends it too.
 */
function restartOnSignal({ say, stopRequested }: Launcher, running: { process: ProcessPlan; child: Supervised }[]) {
  let isRunning = false
  const replaceAll = async () => {
    for (const replica of new Set(running.map(({ process }) => process.replica))) {
      const wave = running.filter(({ process }) => process.replica === replica)
      await Promise.all(wave.map(({ child }) => child.replace()))
      await Promise.all(wave.map(({ process }) => untilReady(process.address, stopRequested)))
    }
  }
  process.on('SIGUSR2', async () => {
    if (isRunning) return say('A rolling restart is already running')
    isRunning = true
    say('Replacing every process, one replica of each service at a time …')
    try {
      await replaceAll()
      say('Every process has been replaced')
    } catch (error) {
      if (!stopRequested.aborted) say(`The rolling restart failed: ${(error as Error).message}`)
    }
    isRunning = false
  })
}
