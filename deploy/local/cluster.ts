/** `npm run cluster [-- --replicas N]`: every service a process of its own, N of each, on one machine; SIGUSR2 is a rolling restart. */
import { takeFlag } from '@parley/config'
import { layFoundation } from './foundation.ts'
import { greeting } from './greeting.ts'
import { type Launcher, launch, StartRefused } from './launcher.ts'
import { drawPlan, type ProcessPlan } from './plan.ts'
import { untilReady } from './readiness.ts'
import { type Supervised, supervise } from './supervisor.ts'

const connectionsOfAll = 160

await launch(async (launcher) => {
  const { value, rest } = takeFlag('replicas')
  const replicas = Number(value ?? 1)
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 16) {
    throw new StartRefused('--replicas: must be a whole number from 1 to 16')
  }
  const { value: configFile, rest: argv } = takeFlag('config', rest)
  const { config, databaseUrlOf } = await layFoundation(launcher, {
    argv: configFile === undefined ? argv : [...argv, `--config=${configFile}`],
    poolSize: Math.max(2, Math.min(10, Math.floor(connectionsOfAll / (6 * replicas)))),
  })

  const plan = await drawPlan({ config, replicas, configFile, databaseUrlOf })
  launcher.say(`Starting ${plan.length} processes …`)
  const running: { process: ProcessPlan; child: Supervised }[] = []
  // Undone in the opposite order: the gateways first, the relay and the jobs last.
  for (const stage of ['worker', 'service', 'gateway'] as const) {
    const children = plan
      .filter((process) => process.stage === stage)
      .map((process) => ({ process, child: supervise(process, launcher.say) }))
    running.push(...children)
    await launcher.done(async () => void (await Promise.all(children.map(({ child }) => child.stop()))))
  }

  // The gateway last: it would complain of services that are merely not there yet.
  for (const stage of [['worker', 'service'], ['gateway']]) {
    const addresses = plan.filter((process) => stage.includes(process.stage)).map(({ address }) => address)
    await Promise.all(addresses.map((address) => untilReady(address, launcher.stopAsked)))
  }
  launcher.say(greeting(config, plan.at(-1)!.address))
  replaceAllOnSignal(launcher, running)
})

/**
 * SIGUSR2 is a rolling restart: of every service one replica at a time, the next when the new one serves. (SIGHUP would be
 * usual, but it is also what a closed terminal sends.)
 */
function replaceAllOnSignal({ say, stopAsked }: Launcher, running: { process: ProcessPlan; child: Supervised }[]) {
  let isUnderWay = false
  const replaceAll = async () => {
    for (const replica of new Set(running.map(({ process }) => process.replica))) {
      const wave = running.filter(({ process }) => process.replica === replica)
      await Promise.all(wave.map(({ child }) => child.replace()))
      await Promise.all(wave.map(({ process }) => untilReady(process.address, stopAsked)))
    }
  }
  process.on('SIGUSR2', async () => {
    if (isUnderWay) return say('A rolling restart is under way already')
    isUnderWay = true
    say('Replacing every process, one replica of each service at a time …')
    try {
      await replaceAll()
      say('Every process has been replaced')
    } catch (error) {
      if (!stopAsked.aborted) say(`The rolling restart was broken off: ${(error as Error).message}`)
    }
    isUnderWay = false
  })
}
