import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { freePort } from '@parley/embedded'
import type { Installation } from '../src/launch.ts'

export interface FurtherGateway {
  /** `host:port`. */
  readonly address: string
  /** Kills it (`kill -9`). Resolves when it has ended. */
  kill(): Promise<void>
}

/** The arguments and the environment of a running gateway of the cluster. */
async function startOf(installation: Installation) {
  const [gateway] = await installation.processesOf('gateway')
  const [command, environment] = await Promise.all(
    ['cmdline', 'environ'].map(async (file) => {
      const text = await readFile(`/proc/${gateway!.pid}/${file}`, 'utf8')
      return text.split('\0').filter((each) => each !== '')
    }),
  )
  const env: Record<string, string> = Object.fromEntries(environment!.map((each) => each.split(/=(.*)/s, 2)))
  return { command: command!, env }
}

/**
 * A gateway with its own port, like on another machine. The gateways of the cluster share one port, so a proxy would
 * never find one of them unreachable.
 */
export async function startFurtherGateway(installation: Installation): Promise<FurtherGateway> {
  const { command, env } = await startOf(installation)
  const port = await freePort()
  const child: ChildProcess = spawn(command[0]!, command.slice(1), {
    env: { ...env, PARLEY_SERVER_PORT: String(port), PARLEY_SERVER_REUSE_PORT: 'false' },
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
  })
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (message !== 'ready') throw new Error(`the gateway ended with ${message}`)
  return {
    address: `127.0.0.1:${port}`,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** `host:port` of the realtime nodes that the gateways send streams to. */
export async function realtimeAddresses(installation: Installation): Promise<string[]> {
  const { env } = await startOf(installation)
  return [...env.PARLEY_GATEWAY_UPSTREAMS_REALTIME!.matchAll(/http:\/\/([\d.]+:\d+)/g)].map(([, address]) => address!)
}
