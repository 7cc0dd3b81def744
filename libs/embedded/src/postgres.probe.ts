import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'
import { connect } from 'node:net'
import type { Probe } from './part.ts'

interface Target {
  port: number
  user: string
  password: string
  database: string
}

const PROTOCOL_3_0 = 196_608
/** How long a silent listener is waited for. */
const PROBE_LIMIT_MS = 5_000

/**
 * Signs in to a PostgreSQL on loopback by SCRAM-SHA-256 (RFC 5802, RFC 7677), which proves the password to both sides, and leaves again.
 * `ready`: it let us in; `starting`: it is there and not yet open; `refused`: it, or somebody else there, does not know the password.
 */
export function probePostgres(target: Target): Promise<Probe> {
  return new Promise((resolve) => {
    const socket = connect({ port: target.port, host: '127.0.0.1' })
    const settle = (probe: Probe) => {
      socket.destroy()
      resolve(probe)
    }
    const scram = scramClient(target.password)
    let received: Buffer = Buffer.alloc(0)

    socket.setTimeout(PROBE_LIMIT_MS, () => settle('silent'))
    socket.on('error', () => settle('silent'))
    socket.on('close', () => settle('silent'))
    socket.on('connect', () => socket.write(startupMessage(target)))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      // A message is its type in one byte, its length (itself included, the type not) in four, and its body.
      while (received.length >= 5 && received.length >= received.readInt32BE(1) + 1) {
        const end = received.readInt32BE(1) + 1
        onMessage(String.fromCharCode(received[0]!), received.subarray(5, end))
        received = received.subarray(end)
      }
    })

    function onMessage(type: string, body: Buffer) {
      if (type === 'E') return settle(probeOfError(body))
      if (type === 'Z') return settle(scram.serverIsProven() ? 'ready' : 'refused')
      if (type !== 'R') return
      const step = body.readInt32BE(0)
      const text = body.toString('utf8', 4)
      if (step === 10) socket.write(passwordMessage(scram.first(), 'SCRAM-SHA-256'))
      else if (step === 11) socket.write(passwordMessage(scram.final(text)))
      else if (step === 12) scram.verify(text)
      else if (step !== 0) settle('refused')
    }
  })
}

function startupMessage({ user, database }: Target): Buffer {
  const body = Buffer.from(`\0\0\0\0\0\0\0\0user\0${user}\0database\0${database}\0\0`)
  body.writeInt32BE(body.length, 0)
  body.writeInt32BE(PROTOCOL_3_0, 4)
  return body
}

function passwordMessage(content: string, mechanism?: string): Buffer {
  const head = mechanism
    ? Buffer.concat([Buffer.from(`${mechanism}\0`), int32(Buffer.byteLength(content))])
    : Buffer.alloc(0)
  return Buffer.concat([
    Buffer.from('p'),
    int32(4 + head.length + Buffer.byteLength(content)),
    head,
    Buffer.from(content),
  ])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** Fields of an error are a letter and a text each; `C` is the SQLSTATE. */
function probeOfError(body: Buffer): Probe {
  const state = body
    .toString('utf8')
    .split('\0')
    .find((field) => field.startsWith('C'))
  // 28P01 wrong password, 28000 not allowed in, 3D000 no such database; anything else (57P03 starting, 53300 full) may pass.
  return state && ['C28P01', 'C28000', 'C3D000'].includes(state) ? 'refused' : 'starting'
}

function scramClient(password: string) {
  const firstBare = `n=,r=${randomBytes(18).toString('base64')}`
  let expected = Buffer.alloc(0)
  let proven = false

  return {
    first: () => `n,,${firstBare}`,

    final(serverFirst: string): string {
      const { r = '', s = '', i = '' } = attributes(serverFirst)
      const salted = pbkdf2Sync(password, Buffer.from(s, 'base64'), Number(i), 32, 'sha256')
      const clientKey = hmac(salted, 'Client Key')
      const withoutProof = `c=biws,r=${r}`
      const transcript = `${firstBare},${serverFirst},${withoutProof}`
      const signature = hmac(createHash('sha256').update(clientKey).digest(), transcript)
      const proof = clientKey.map((byte, at) => byte ^ signature[at]!)
      expected = hmac(hmac(salted, 'Server Key'), transcript)
      return `${withoutProof},p=${Buffer.from(proof).toString('base64')}`
    },

    verify(serverFinal: string) {
      const signature = Buffer.from(attributes(serverFinal).v ?? '', 'base64')
      proven = signature.length === expected.length && timingSafeEqual(signature, expected)
    },

    serverIsProven: () => proven,
  }
}

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest()

const attributes = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(',').map((part) => [part[0], part.slice(2)]))
