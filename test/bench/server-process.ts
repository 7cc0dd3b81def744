import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Interrupted, type Scene } from './scene.ts'

export interface ServerPlan {
  name: string
  command: string
  args: string[]
  env: Record<string, string | undefined>
  /** A URL that answers with a status below 500 once the server is ready. */
  readyUrl: string
}

export interface ServerProcess {
  name: string
  pid: number
  /** Ends the server before its scene ends. */
  stop(): Promise<void>
}

const startPatienceMs = 60_000
const stopPatienceMs = 12_000

/** Starts a server as a process of its own and waits until it answers. @throws with what it printed when it does not. */
export async function startServer(scene: Scene, plan: ServerPlan): Promise<ServerProcess> {
  let output = ''
  let stopping = false
  const stop = async (started: ChildProcess) => {
    stopping = true
    await endProcess(started)
  }
  const child = await scene.keep(() => {
    // In its own process group, so that Ctrl-C only reaches the bench, which then ends the servers in order.
    const started = spawn(plan.command, plan.args, {
      env: plan.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-20_000)
      })
    }
    started.once('exit', (code, signal) => {
      if (!stopping) process.stderr.write(`${plan.name} has ended (${signal ?? code}):\n${output}\n`)
    })
    return started
  }, stop)
  child.once('error', (error) => {
    output += error.message
  })

  for (const until = Date.now() + startPatienceMs; ; await delay(50)) {
    if (stopping) throw new Interrupted()
    if (hasEnded(child) || Date.now() > until) throw new Error(`${plan.name} does not start:\n${output}`)
    const status = await fetch(plan.readyUrl).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => 0,
    )
    if (status > 0 && status < 500) return { name: plan.name, pid: child.pid!, stop: () => stop(child) }
  }
}

async function endProcess(child: ChildProcess) {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), stopPatienceMs)
  await ended
  clearTimeout(patience)
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null || !child.pid
