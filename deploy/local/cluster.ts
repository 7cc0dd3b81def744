/** `npm run cluster [-- --replicas N]`: every service a process of its own, N of each, on one machine. */
import { takeFlag } from '@parley/config'
import { layFoundation } from './foundation.ts'
import { greeting } from './greeting.ts'
import { launch, StartRefused } from './launcher.ts'
import { drawPlan } from './plan.ts'
import { untilReady } from './readiness.ts'
import { supervise } from './supervisor.ts'

const connectionsOfAll = 160

await launch(async (launcher) => {
  const { value, rest } = takeFlag('replicas')
  const replicas = Number(value ?? 1)
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 16) {
    throw new StartRefused('--replicas: must be a whole number from 1 to 16')
  }
  const { value: configFile, rest: argv } = takeFlag('config', rest)
  const { config } = await layFoundation(launcher, {
    argv: configFile === undefined ? argv : [...argv, `--config=${configFile}`],
    poolSize: Math.max(2, Math.min(10, Math.floor(connectionsOfAll / (6 * replicas)))),
  })

  const plan = await drawPlan({ config, replicas, configFile })
  launcher.say(`Starting ${plan.length} processes …`)
  // Undone in the opposite order: the gateways first, the relay and the jobs last.
  for (const stage of ['worker', 'service', 'gateway'] as const) {
    const children = plan
      .filter((process) => process.stage === stage)
      .map((process) => supervise(process, launcher.say))
    await launcher.done(async () => void (await Promise.all(children.map((child) => child.stop()))))
  }

  // The gateway last: it would complain of services that are merely not there yet.
  for (const stage of [['worker', 'service'], ['gateway']]) {
    const addresses = plan.filter((process) => stage.includes(process.stage)).map(({ address }) => address)
    await Promise.all(addresses.map((address) => untilReady(address, launcher.stopAsked)))
  }
  launcher.say(greeting(config, plan.at(-1)!.address))
})
