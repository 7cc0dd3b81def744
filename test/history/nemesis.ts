import { setTimeout as delay } from 'node:timers/promises'
import type { Chooser } from '../src/chooser.ts'
import type { Installation } from '../src/launch.ts'
import { listProcesses, signal } from '../src/processes.ts'

const services = ['gateway', 'messaging', 'realtime', 'directory', 'auth', 'admin', 'integrations', 'worker'] as const
/** The services, with weights: the most important ones get the most faults. */
const targets = [
  ...services,
  'messaging',
  'realtime',
  'realtime',
  'worker',
  'worker',
  'gateway',
  'redis-server',
  'postgres',
]
const parts = new Set(['redis-server', 'postgres'])

export interface Trouble {
  name: string
  /** Milliseconds since the nemesis began. */
  from: number
  to: number
}

/**
 * Causes faults one after the other, and sometimes several at once: processes are killed, stopped, frozen for shorter
 * or longer than a lease, or all replaced one by one. The choices depend only on the chooser.
 */
export function createNemesis(installation: Installation, choose: Chooser, log: (line: string) => void = () => {}) {
  const troubles: Trouble[] = []
  const frozen = new Set<number>()
  const begun = performance.now()
  const since = () => Math.round(performance.now() - begun)

  async function suffer(name: string, happen: () => Promise<unknown>) {
    const from = since()
    log(`${String(from).padStart(7)} ms  ${name}`)
    await happen()
    troubles.push({ name, from, to: since() })
  }

  const hit = (name: string, signalName: NodeJS.Signals, which: number) =>
    suffer(`${signalName} ${name} ${which + 1}`, async () => {
      const found = await installation.processesOf(name)
      // It may still be restarting after an earlier fault.
      const target = found[which % Math.max(1, found.length)]
      if (target) signal(target.pid, signalName)
    })

  const freeze = (name: string, which: number, milliseconds: number) =>
    suffer(`freeze ${name} ${which + 1} for ${milliseconds} ms`, async () => {
      const found = await installation.processesOf(name)
      const target = found[which % Math.max(1, found.length)]
      if (!target) return
      // PostgreSQL is many processes.
      const all = name === 'postgres' ? (await listProcesses()).filter(({ parent }) => parent === target.pid) : []
      const pids = [target, ...all].map(({ pid }) => pid)
      for (const pid of pids) {
        frozen.add(pid)
        signal(pid, 'SIGSTOP')
      }
      await delay(milliseconds)
      wake(pids)
    })

  function wake(pids: Iterable<number>) {
    for (const pid of pids) {
      if (frozen.delete(pid)) signal(pid, 'SIGCONT')
    }
  }

  function choice(): () => Promise<void> {
    const name = choose.any(targets)
    const which = choose.below(2)
    const how = choose.below(10)
    if (how < 4) return () => hit(name, 'SIGKILL', which)
    if (how < 6 && !parts.has(name)) return () => hit(name, 'SIGTERM', which)
    const shorter = choose.between(200, 1_500)
    const longer = choose.between(3_500, 6_000)
    return () => freeze(name, which, choose.chance(0.6) ? shorter : longer)
  }

  return {
    troubles,
    /** Kills PostgreSQL again and again, in addition to the other faults, until it is stopped. */
    async crashPostgres(everyMs: number, stop: AbortSignal): Promise<void> {
      while (!stop.aborted) {
        await delay(everyMs, undefined, { signal: stop }).catch(() => {})
        if (!stop.aborted) await hit('postgres', 'SIGKILL', 0)
      }
    },
    /** Continues until `milliseconds` have passed and no process is frozen any more. */
    async rage(milliseconds: number): Promise<void> {
      const until = performance.now() + milliseconds
      while (performance.now() < until) {
        if (choose.chance(0.06)) {
          await suffer('rolling restart', () => installation.restartInTurn())
          continue
        }
        const atOnce = choose.chance(0.25) ? choose.between(2, 3) : 1
        const choices = Array.from({ length: atOnce }, choice)
        await Promise.all(choices.map((happen) => happen()))
        await delay(choose.between(300, 3_000))
      }
      wake([...frozen])
    },
  }
}
