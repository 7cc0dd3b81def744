import { hash } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { ensureFirstStart } from '@parley/accounts'
import { type Config, type DeepPartial, loadConfig } from '@parley/config'
import {
  type DatabaseRole,
  DatabaseUnreachable,
  databaseRoles,
  isDatabaseAway,
  migrate,
  roleName,
  setRolePassword,
} from '@parley/database'
import { type EmbeddedPart, keptSecret, lockDataDirectory, startPostgres, startRedis } from '@parley/embedded'
import { openDeps } from '@parley/service'
import { type Launcher, StartRefused } from './launcher.ts'

interface Provided {
  databaseUrl: string
  /** None when Sentinels or a cluster are configured. */
  redisUrl?: string
  jwtSecret: string
}

/** Stands for what the launcher itself will provide, while the rest of the configuration is judged. */
const placeholder = {
  databaseUrl: 'postgres://embedded.invalid/parley',
  redisUrl: 'redis://embedded.invalid',
  jwtSecret: 'made and kept by the launcher on the first start',
}

export interface FoundationOptions {
  argv: readonly string[]
  /** Connections to PostgreSQL that each process may open, unless configured. */
  poolSize?: number
}

/**
 * What both launchers stand on: a sound configuration, the data directory for ourselves, PostgreSQL and Redis (our own where none
 * is named), the schema, the initial admin. Nothing is started when the configuration has a fault.
 * @throws ConfigError, StartRefused
 */
export async function layFoundation(launcher: Launcher, { argv, poolSize }: FoundationOptions) {
  const draft = await loadConfig({ argv, defaults: localDefaults(placeholder, poolSize) })
  const port = await findPort(draft)
  await holdDataDirectory(launcher, draft.dataDir)

  const part = (name: string) => ({
    directory: join(draft.dataDir, name),
    durable: true,
    log: launcher.say,
  })
  const wantsPostgres = draft.database.url === placeholder.databaseUrl
  const { url, sentinels, clusterNodes } = draft.redis
  const wantsRedis = url === placeholder.redisUrl && !sentinels && !clusterNodes
  if (wantsPostgres || wantsRedis) launcher.say('Starting PostgreSQL and Redis …')
  // Undone in the opposite order: Redis ends before PostgreSQL.
  const postgres = wantsPostgres ? await keep(launcher, 'PostgreSQL', () => startPostgres(part('postgres'))) : undefined
  const redis = wantsRedis ? await keep(launcher, 'Redis', () => startRedis(part('redis'))) : undefined

  const provided = {
    databaseUrl: postgres?.url ?? placeholder.databaseUrl,
    redisUrl: redis?.url,
    jwtSecret: await keptSecret(join(draft.dataDir, 'secrets'), 'jwt').catch(refuse),
  }
  const config = await loadConfig({
    argv: [...argv, `--server.port=${port}`],
    defaults: localDefaults(provided, poolSize),
  })
  const roles = postgres && { password: await keptSecret(join(draft.dataDir, 'secrets'), 'roles').catch(refuse) }
  await prepareDatabase(config, roles)
  return { config, postgres, redis, databaseUrlOf: roles && ((role: DatabaseRole) => urlOf(config, role, roles)) }
}

/** How a launcher on a developer's machine differs from an installation. */
const localDefaults = ({ databaseUrl, redisUrl, jwtSecret }: Provided, poolSize = 10): DeepPartial<Config> => ({
  log: { level: 'warn' },
  server: { shutdownSeconds: 2 },
  events: { drainSeconds: 1 },
  database: { url: databaseUrl, poolSize },
  redis: redisUrl ? { url: redisUrl } : {},
  auth: { jwtSecret },
})

async function holdDataDirectory(launcher: Launcher, directory: string) {
  const lock = await lockDataDirectory(directory).catch(refuse)
  await launcher.done(() => lock.release())
}

/** The embedded parts say what is wrong and what helps. */
function refuse(error: Error): never {
  throw new StartRefused(error.message)
}

/** A part that dies is started again: everything else can wait for it. */
async function keep(launcher: Launcher, name: string, start: () => Promise<EmbeddedPart>): Promise<EmbeddedPart> {
  const part = await start().catch(refuse)
  part.onExit(({ code, signal }) => {
    launcher.say(`${name} has ended (${signal ?? `code ${code}`}), starting it again`)
    part.restart().then(
      () => launcher.say(`${name} is back (pid ${part.pid})`),
      (error: Error) => launcher.say(`${name} does not come back: ${error.message}`),
    )
  })
  await launcher.done(() => part.stop())
  return part
}

/** What the passwords of our own PostgreSQL's roles are derived from. */
interface RoleSecret {
  password: string
}

const passwordOf = (role: DatabaseRole, { password }: RoleSecret) => hash('sha256', `${password} ${role}`, 'base64url')

function urlOf(config: Config, role: DatabaseRole, secret: RoleSecret): string {
  return Object.assign(new URL(config.database.url), { username: roleName(role), password: passwordOf(role, secret) })
    .href
}

async function prepareDatabase(config: Config, roles: RoleSecret | undefined) {
  const { deps, close } = openDeps('launcher', config)
  try {
    await migrate(deps.db)
    await ensureFirstStart(deps.db, config)
    if (roles) for (const role of databaseRoles) await setRolePassword(deps.db, role, passwordOf(role, roles))
  } catch (error) {
    if (error instanceof DatabaseUnreachable) throw new StartRefused(error.message)
    if (!isDatabaseAway(error)) throw error
    throw new StartRefused(`PostgreSQL does not answer: ${(error as Error).message}`)
  } finally {
    await close()
  }
}

/**
 * The configured port, or a free one for 0. Asked before anything is started: with `reusePort` a stranger would silently
 * share the port with us.
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
