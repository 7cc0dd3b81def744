import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'

// Below the ranges from which Linux (32768) and macOS (49152) take the ports of outgoing connections: a client that keeps reconnecting to a
// dead port inside them can meet itself there, and the part could not come back on its own port.
const LOWEST = 15_000
const HIGHEST = 30_000

/** Where this process looks next: it gives no port twice, and begins where others hardly look. */
let next = randomInt(LOWEST, HIGHEST)

/** A loopback port that nobody listens on, and that no outgoing connection will take. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = next
    next = port + 1 < HIGHEST ? port + 1 : LOWEST
    if (await isFree(port)) return port
  }
  throw new Error(`No free port found on 127.0.0.1 between ${LOWEST} and ${HIGHEST}`)
}

/** A free loopback port: the one in the file `directory/port` when it is free, else a new one, which is kept there. */
export async function keptPort(directory: string): Promise<number> {
  const file = join(directory, 'port')
  const kept = Number(await readFile(file, 'utf8').catch(() => ''))
  if (Number.isInteger(kept) && kept > 0 && kept < 65_536 && (await isFree(kept))) return kept

  const port = await freePort()
  await writeFile(file, `${port}\n`, { mode: 0o600 })
  return port
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
