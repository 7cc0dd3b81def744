import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@parley/embedded'
import type { CertifiedKey } from '../src/certificates.ts'
import { findDebianProgram, type Program } from '../src/debian-program.ts'
import { root } from '../src/launch.ts'

export type Kind = 'nginx' | 'haproxy'

/** `host:port` of the replicas, two of each. */
export interface Replicas {
  gateways: readonly string[]
  /** The target of streams: the gateways, or realtime itself. */
  events: readonly string[]
}

export interface ReverseProxy {
  readonly baseUrl: string
  /** The port with TLS, of a proxy that was started with a key. */
  readonly tlsPort: number
  /** Its output and its log so far. */
  log(): Promise<string>
  stop(): Promise<void>
}

const configFile = { nginx: 'nginx.conf', haproxy: 'haproxy.cfg' }
const startTimeoutMs = 10_000

/** The proxy of this machine or of Debian; or the reason why it is missing. */
export const findReverseProxy = (kind: Kind) =>
  findDebianProgram({ name: kind, package: kind, path: `usr/sbin/${kind}`, versionFlag: '-v' })

/**
 * Starts the proxy with the file that operators copy. Only addresses and paths in it are replaced. With a key, the lines
 * for TLS are no comments any more.
 */
export async function startReverseProxy(
  kind: Kind,
  { command, env }: Program,
  replicas: Replicas,
  directory: string,
  key?: CertifiedKey,
): Promise<ReverseProxy> {
  await mkdir(directory, { recursive: true })
  // Its workers run as another user when root starts it.
  await chmod(directory, 0o711)
  const port = await freePort()
  const tlsPort = await freePort()
  const given = await readFile(path.join(root, 'deploy/proxy', configFile[kind]), 'utf8')
  const file = path.join(directory, configFile[kind])
  const text = key ? withTls(kind, given, tlsPort, await storedKey(key, directory)) : given
  await writeFile(file, placed(addressed(text, port, replicas), directory))

  const printed: string[] = []
  const child = spawn(command, await argumentsOf(kind, file, directory), { env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void printed.push(text))
  }
  await listening(child, port, () => printed.join(''))
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    tlsPort,
    async log() {
      const access = await readFile(path.join(directory, 'parley.log'), 'utf8').catch(() => '')
      return printed.join('') + access
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Follows the comments about TLS in the file. */
function withTls(kind: Kind, text: string, port: number, stored: string): string {
  const enabled = text
    .replaceAll(/^( *)# ((?:listen 443|ssl_|bind :443|http-request redirect) ?.*)$/gm, '$1$2')
    .replace(/((?:listen|bind) ):?443/, `$1127.0.0.1:${port}`)
    .replaceAll(/\/etc\/\S+\.pem/g, stored)
  if (kind === 'haproxy') return enabled
  const [main, redirect] = enabled.split(/^# server \{$/m)
  return `${main!.replace(/^ +listen 80;$/m, '')}server {\n${redirect!.replaceAll(/^# ?/gm, '')}`
}

/** Writes certificate and key into one file, which both proxies read. */
async function storedKey({ certificate, privateKey }: CertifiedKey, directory: string): Promise<string> {
  const file = path.join(directory, 'key.pem')
  await writeFile(file, certificate + privateKey, { mode: 0o600 })
  return file
}

/** Replaces the addresses in the file by those of two replicas, in the part for requests and in the part for streams. */
function addressed(text: string, port: number, { gateways, events }: Replicas): string {
  let part = ''
  let replaced = 0
  const lines = text.split('\n').map((line) => {
    part = /^(?:upstream|backend|server|frontend) ?(\w*)/.exec(line)?.[1] ?? part
    const own = line.replace(/^( +(?:listen|bind)) \S*?80\b/, `$1 127.0.0.1:${port}`)
    return own.replace(/\b127\.0\.0\.1:300([12])\b/, (_, replica) => {
      replaced++
      return (part === 'parley_events' ? events : gateways)[Number(replica) - 1]!
    })
  })
  if (replaced !== 4) throw new Error(`${replaced} addresses of replicas were found, not 4`)
  return lines.join('\n')
}

/**
 * Logs go to a directory of the test, and the number of connections is small. Under root the user becomes `nobody`, who
 * exists on every machine; other users cannot change it.
 */
function placed(text: string, directory: string): string {
  const own = text.replaceAll('/var/log/nginx', directory).replace(/^( +maxconn) .*$/m, '$1 1000')
  const isRoot = process.getuid?.() === 0
  return own.replaceAll(/^( +)(u|g)(?:ser|roup) .*$/gm, isRoot ? '$1$2id 65534' : '')
}

async function argumentsOf(kind: Kind, file: string, directory: string): Promise<string[]> {
  if (kind === 'haproxy') return ['-db', '-f', file]
  const main = path.join(directory, 'main.conf')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/${name};`,
  )
  await writeFile(
    main,
    `daemon off; pid ${directory}/nginx.pid; error_log stderr warn; worker_processes 2;
events { worker_connections 1024; }
http { ${places.join(' ')} include ${file}; }
`,
  )
  return ['-c', main, '-e', 'stderr']
}

/** Resolves when the port accepts connections. @throws with its output when it ends or takes too long. */
async function listening(child: ChildProcess, port: number, printed: () => string): Promise<void> {
  const deadline = performance.now() + startTimeoutMs
  while (child.exitCode === null && child.signalCode === null && performance.now() < deadline) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await delay(20)
  }
  child.kill('SIGKILL')
  throw new Error(`the proxy does not listen:\n${printed()}`)
}
