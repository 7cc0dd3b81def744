import { connect } from 'node:net'
import type { Probe } from './part.ts'

const PROBE_LIMIT_MS = 5_000

/** Signs in to a Redis on loopback and asks whether it serves. `starting` while it loads its data, `refused` when the password is not its own. */
export function probeRedis(port: number, password: string): Promise<Probe> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const settle = (probe: Probe) => {
      socket.destroy()
      resolve(probe)
    }
    let received = ''

    socket.setTimeout(PROBE_LIMIT_MS, () => settle('silent'))
    socket.on('error', () => settle('silent'))
    socket.on('close', () => settle('silent'))
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const [signedIn, served] = received.split('\r\n')
      if (!received.includes('\r\n')) return
      if (signedIn !== '+OK') return settle(signedIn!.startsWith('-LOADING') ? 'starting' : 'refused')
      if (received.split('\r\n').length > 2) settle(served === '+PONG' ? 'ready' : 'starting')
    })
  })
}
