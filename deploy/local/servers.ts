import { hash } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { ensureFirstStart } from '@parley/accounts'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import {
  type DatabaseRole,
  DatabaseUnreachable,
  databaseRoles,
  isDatabaseUnavailable,
  migrate,
  roleName,
  setRolePassword,
} from '@parley/database'
import { type EmbeddedServer, loadOrCreateSecret, lockDataDirectory, startPostgres, startRedis } from '@parley/embedded'
import { openDeps } from '@parley/service'
import { type Launcher, StartRefused } from './launcher.ts'

/** The settings that the launcher provides unless they are configured. */
interface Provided {
  databaseUrl: string
  /** Undefined when Sentinels or a cluster are configured. */
  redisUrl?: string
  jwtSecret: string
}

/** Used while the configuration is validated, before the servers are started. */
const placeholder = {
  databaseUrl: 'postgres://embedded.invalid/parley',
  redisUrl: 'redis://embedded.invalid',
  jwtSecret: 'generated and kept by the launcher on the first start',
}

export interface StartOptions {
  argv: readonly string[]
  /** Connections to PostgreSQL that each process may open, unless configured. */
  poolSize?: number
}

/**
 * The first steps of both launchers: validates the configuration, locks the data directory, starts PostgreSQL and Redis
 * unless they are configured, migrates the schema and creates the initial admin. With a faulty configuration nothing is
 * started.
 * @throws ConfigError, StartRefused
 */
export async function startServers(launcher: Launcher, { argv, poolSize }: StartOptions) {
  const draft = await loadConfig({ argv, defaults: localDefaults(placeholder, poolSize) })
  const port = await findPort(draft)
  await lockDirectory(launcher, draft.dataDir)

  const options = (name: string) => ({
    directory: join(draft.dataDir, name),
    durable: true,
    log: launcher.say,
  })
  const wantsPostgres = draft.database.url === placeholder.databaseUrl
  const { url, sentinels, clusterNodes } = draft.redis
  const wantsRedis = url === placeholder.redisUrl && !sentinels && !clusterNodes
  if (wantsPostgres || wantsRedis) launcher.say('Starting PostgreSQL and Redis …')
  // They stop in the reverse order: Redis ends before PostgreSQL.
  const postgres = wantsPostgres
    ? await keepRunning(launcher, 'PostgreSQL', () => startPostgres(options('postgres')))
    : undefined
  const redis = wantsRedis ? await keepRunning(launcher, 'Redis', () => startRedis(options('redis'))) : undefined

  const provided = {
    databaseUrl: postgres?.url ?? placeholder.databaseUrl,
    redisUrl: redis?.url,
    jwtSecret: await loadOrCreateSecret(join(draft.dataDir, 'secrets'), 'jwt').catch(refuse),
  }
  const config = await loadConfig({
    argv: [...argv, `--server.port=${port}`],
    defaults: localDefaults(provided, poolSize),
  })
  const roleSecret = postgres && (await loadOrCreateSecret(join(draft.dataDir, 'secrets'), 'roles').catch(refuse))
  await prepareDatabase(config, roleSecret)
  const databaseUrlOf = roleSecret ? (role: DatabaseRole) => urlOf(config, role, roleSecret) : undefined
  return { config, postgres, redis, databaseUrlOf }
}

/** The defaults on a developer's machine that differ from those of an installation. */
const localDefaults = ({ databaseUrl, redisUrl, jwtSecret }: Provided, poolSize = 10): DeepPartial<Config> => ({
  log: { level: 'warn' },
  server: { shutdownSeconds: 2 },
  events: { drainSeconds: 1 },
  database: { url: databaseUrl, poolSize },
  redis: redisUrl ? { url: redisUrl } : {},
  auth: { jwtSecret },
})

async function lockDirectory(launcher: Launcher, directory: string) {
  const lock = await lockDataDirectory(directory).catch(refuse)
  await launcher.onStop('the lock of the data directory', () => lock.release())
}

/** Shows an error of libs/embedded without its stack trace: its message says what is wrong and how to correct it. */
function refuse(error: Error): never {
  throw new StartRefused(error.message)
}

/** Starts a server, and starts it again when it dies. The services wait for it. */
async function keepRunning(
  launcher: Launcher,
  name: string,
  start: () => Promise<EmbeddedServer>,
): Promise<EmbeddedServer> {
  const server = await start().catch(refuse)
  server.onExit(({ code, signal }) => {
    launcher.say(`${name} has ended (${signal ?? `code ${code}`}), starting it again`)
    server.restart().then(
      () => launcher.say(`${name} is running again (pid ${server.pid})`),
      (error: Error) => launcher.say(`${name} cannot be started again: ${error.message}`),
    )
  })
  await launcher.onStop(name, () => server.stop())
  return server
}

/** The password of a role in the embedded PostgreSQL, derived from the secret that the data directory keeps. */
const passwordOf = (role: DatabaseRole, secret: string) => hash('sha256', `${secret} ${role}`, 'base64url')

function urlOf(config: Config, role: DatabaseRole, secret: string): string {
  return Object.assign(new URL(config.database.url), { username: roleName(role), password: passwordOf(role, secret) })
    .href
}

async function prepareDatabase(config: Config, roleSecret: string | undefined) {
  const { deps, close } = openDeps('launcher', config)
  try {
    await migrate(deps.db)
    await ensureFirstStart(deps.db, config)
    if (roleSecret) {
      for (const role of databaseRoles) await setRolePassword(deps.db, role, passwordOf(role, roleSecret))
    }
  } catch (error) {
    if (error instanceof DatabaseUnreachable) throw new StartRefused(error.message)
    if (!isDatabaseUnavailable(error)) throw error
    throw new StartRefused(`PostgreSQL does not answer: ${(error as Error).message}`)
  } finally {
    await close()
  }
}

/**
 * The configured port, or a free one for 0. It is checked before anything is started, because with `reusePort` another
 * program could share the port without an error.
 */
async function findPort({ server: { host, port } }: Config): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const probe = createServer()
  probe.once('error', reject)
  probe.listen({ host, port, exclusive: true }, () => {
    const { port: found } = probe.address() as AddressInfo
    probe.close(() => resolve(found))
  })
  return promise.catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${error.code})`
    throw new StartRefused(`Port ${port} on ${host} ${reason}: choose another one with PORT=… or --server.port=…`)
  })
}
