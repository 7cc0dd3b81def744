import { type DatabaseAddress, parseDatabaseUrl, type SslMode, sslModes } from './database-address.ts'
import type { Faults } from './faults.ts'
import { keyNamed } from './keys.ts'
import type { Layer } from './layers.ts'
import { isLoopbackHost } from './loopback.ts'
import type { Config, DeepPartial } from './schema.ts'
import { howToSet } from './validation.ts'

/** A rule about several keys. It is checked only when every key that it reads is valid. Its fault is reported for `key`. */
interface Rule {
  key: string
  reads: string[]
  refuses: (config: DeepPartial<Config>, written: Layer) => boolean
  message: string
}

const rules: Rule[] = [
  {
    key: 'auth.jwtSecret',
    reads: ['environment'],
    // A launcher generates a secret for a developer. An installation needs its own, the same for every process.
    refuses: ({ environment }, written) => environment === 'production' && !written.has('auth.jwtSecret'),
    message: howToSet(keyNamed.get('auth.jwtSecret')!),
  },
  {
    key: 'auth.authMode',
    reads: ['environment', 'auth.allowPublicDevMode'],
    refuses: ({ environment, auth }) =>
      auth?.authMode === 'dev' && environment === 'production' && !auth.allowPublicDevMode,
    message:
      'must not be dev in production: choose magic-link or password (or set auth.allowPublicDevMode to let anyone in)',
  },
  {
    key: 'server.host',
    reads: ['auth.authMode', 'auth.allowPublicDevMode'],
    refuses: ({ server, auth }) =>
      auth?.authMode === 'dev' && !isLoopbackHost(server?.host ?? '') && !auth.allowPublicDevMode,
    message: 'must be a loopback address while auth.authMode is dev (or set auth.allowPublicDevMode to let anyone in)',
  },
  {
    key: 'email.host',
    reads: ['auth.authMode'],
    refuses: ({ auth, email }) => auth?.authMode === 'magic-link' && !email?.host,
    message: 'is required: auth.authMode magic-link sends e-mail',
  },
  {
    key: 'database.url',
    reads: [],
    refuses: (config) => {
      const { sslMode } = databaseAddress(config)
      return sslMode !== undefined && !sslModes.includes(sslMode as SslMode)
    },
    message: `has an unknown sslmode: choose one of ${sslModes.join(', ')}`,
  },
  {
    key: 'database.url',
    reads: [],
    refuses: (config) => !['read-write', 'primary', undefined].includes(databaseAddress(config).targetSessionAttrs),
    message: 'has unusable target_session_attrs: Parley writes, so they must be read-write or primary',
  },
  {
    key: 'database.url',
    reads: ['database.tls.ca'],
    refuses: (config) => {
      const { sslMode, sslRootCert } = databaseAddress(config)
      const hasOwnCa = Boolean(config.database?.tls?.ca ?? sslRootCert) && sslRootCert !== 'system'
      return sslMode === 'verify-ca' && !hasOwnCa
    },
    message: 'has sslmode=verify-ca, which needs an authority of your own: set database.tls.ca, or choose verify-full',
  },
  {
    key: 'database.tls.ca',
    reads: ['database.url'],
    refuses: (config) => Boolean(config.database?.tls?.ca) && databaseAddress(config).sslMode === 'disable',
    message: 'has no effect with sslmode=disable in database.url',
  },
  {
    key: 'database.tls.ca',
    reads: ['database.url'],
    refuses: (config) => Boolean(config.database?.tls?.ca && databaseAddress(config).sslRootCert),
    message: 'cannot be used together with sslrootcert in database.url: leave one of them out',
  },
  {
    key: 'redis.url',
    reads: ['redis.sentinels', 'redis.clusterNodes'],
    refuses: ({ redis }) => !redis?.url && !redis?.sentinels && !redis?.clusterNodes,
    message: howToSet(keyNamed.get('redis.url')!),
  },
  {
    key: 'redis.url',
    reads: ['redis.sentinels', 'redis.clusterNodes'],
    // A launcher's URL is used only when nothing else is set.
    refuses: ({ redis }, written) => written.has('redis.url') && Boolean(redis?.sentinels ?? redis?.clusterNodes),
    message: 'names one Redis: leave it out with redis.sentinels or redis.clusterNodes',
  },
  {
    key: 'redis.clusterNodes',
    reads: ['redis.sentinels'],
    refuses: ({ redis }) => Boolean(redis?.clusterNodes && redis.sentinels),
    message: 'cannot be used together with redis.sentinels: a cluster has none',
  },
  {
    key: 'redis.sentinelName',
    reads: ['redis.sentinels'],
    refuses: ({ redis }) => Boolean(redis?.sentinels) !== Boolean(redis?.sentinelName),
    message: 'belongs together with redis.sentinels: set both or neither',
  },
  {
    key: 'redis.sentinelPassword',
    reads: ['redis.sentinels', 'redis.sentinelUsername'],
    refuses: ({ redis }) =>
      Boolean(redis?.sentinelPassword ?? redis?.sentinelUsername) && !(redis?.sentinels && redis.sentinelPassword),
    message: 'belongs to redis.sentinels, and redis.sentinelUsername needs it',
  },
  {
    key: 'redis.password',
    reads: ['redis.username'],
    refuses: ({ redis }) => Boolean(redis?.username) && !redis?.password,
    message: 'is required: redis.username is set',
  },
  {
    key: 'redis.tls.enabled',
    reads: ['redis.url', 'redis.sentinels', 'redis.clusterNodes'],
    refuses: ({ redis }) =>
      Boolean(redis?.tls?.enabled) && !redis?.sentinels && !redis?.clusterNodes && !isSecureRedis(redis?.url),
    message: 'is for Sentinels and clusters: with a URL write rediss://',
  },
  {
    key: 'redis.tls.ca',
    reads: ['redis.url', 'redis.tls.enabled'],
    refuses: ({ redis }) => Boolean(redis?.tls?.ca) && !redis?.tls?.enabled && !isSecureRedis(redis?.url),
    message: 'has no effect without TLS: write rediss:// or set redis.tls.enabled',
  },
  {
    key: 'storage.s3.bucket',
    reads: ['storage.store'],
    refuses: ({ storage }) => storage?.store === 's3' && !storage.s3?.bucket,
    message: 'is required while storage.store is s3',
  },
  {
    key: 'storage.s3.secretAccessKey',
    reads: ['storage.s3.accessKeyId'],
    refuses: ({ storage }) => Boolean(storage?.s3?.accessKeyId) !== Boolean(storage?.s3?.secretAccessKey),
    message: 'belongs together with storage.s3.accessKeyId: set both or neither',
  },
]

const databaseAddress = ({ database }: DeepPartial<Config>): Partial<DatabaseAddress> =>
  parseDatabaseUrl(database?.url ?? '') ?? {}

const isSecureRedis = (url = '') => /^rediss:/i.test(url)

/** Applies the rules about several keys. `config` has only the valid values, `written` the settings of file, environment and flags. */
export function applyRules(config: DeepPartial<Config>, written: Layer, faults: Faults): void {
  const faulty = new Set(faults.map(({ key }) => key))
  for (const { key, reads, refuses, message } of rules) {
    if (![key, ...reads].some((name) => faulty.has(name)) && refuses(config, written)) faults.push({ key, message })
  }
  faults.push(...insecureUrls(config), ...repeatedProviders(config), ...incompleteProviders(config))
}

const providerUrls = ['issuer', 'authorizationUrl', 'tokenUrl', 'userInfoUrl', 'redirectUri', 'entryPoint'] as const
const withoutIssuer = ['authorizationUrl', 'tokenUrl', 'userInfoUrl'] as const
const withoutMetadata = ['entryPoint', 'certificates', 'idpIssuer'] as const
const withIssuer = ['claims', 'adminRoles', 'allowedDomains', 'trustEmail'] as const

/**
 * A provider is described by one key (`issuer`, `metadata`) or by three others. The keys about groups and roles need an
 * issuer.
 */
function incompleteProviders({ oauth, saml = [] }: DeepPartial<Config>): Faults {
  const custom = (oauth?.custom ?? []).flatMap((provider, index): Faults => {
    const path = `oauth.custom[${index}]`
    if (provider.issuer === undefined) {
      const missing = faultsAt(path, missingIn(provider, withoutIssuer), 'is required without issuer')
      return [...missing, ...faultsAt(path, presentIn(provider, withIssuer), 'needs issuer')]
    }
    return faultsAt(path, presentIn(provider, withoutIssuer), 'is discovered from issuer: leave one of them out')
  })
  const ofSaml = saml.flatMap((provider, index) =>
    provider.metadata === undefined
      ? faultsAt(`saml[${index}]`, missingIn(provider, withoutMetadata), 'is required without metadata')
      : [],
  )
  return [...custom, ...ofSaml]
}

const presentIn = (entry: object, names: readonly string[]) =>
  names.filter((name) => (entry as Record<string, unknown>)[name] !== undefined)
const missingIn = (entry: object, names: readonly string[]) =>
  names.filter((name) => (entry as Record<string, unknown>)[name] === undefined)
const faultsAt = (path: string, names: readonly string[], message: string): Faults =>
  names.map((name) => ({ key: `${path}.${name}`, message }))

function insecureUrls({ oauth, saml = [] }: DeepPartial<Config>): Faults {
  const presets = Object.entries(oauth?.presets ?? {}).map(([id, preset]) => [`oauth.presets.${id}`, preset] as const)
  const custom = (oauth?.custom ?? []).map((provider, index) => [`oauth.custom[${index}]`, provider] as const)
  const ofSaml = saml.map((provider, index) => [`saml[${index}]`, provider] as const)
  return [...presets, ...custom, ...ofSaml].flatMap(([path, provider]) =>
    providerUrls
      .filter((name) => isInsecure((provider as Record<string, unknown>)[name]))
      .map((name) => ({
        key: `${path}.${name}`,
        message: `must be https, except on a loopback host${name === 'redirectUri' ? ' (it follows auth.appUrl unless set)' : ''}`,
      })),
  )
}

function isInsecure(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const url = new URL(value)
  return url.protocol !== 'https:' && !isLoopbackHost(url.hostname)
}

function repeatedProviders({ oauth, saml = [] }: DeepPartial<Config>): Faults {
  const taken = new Set(Object.keys(oauth?.presets ?? {}))
  const custom = (oauth?.custom ?? []).map(({ id }, index) => ({ id, key: `oauth.custom[${index}].id` }))
  const ofSaml = saml.map(({ id }, index) => ({ id, key: `saml[${index}].id` }))
  return [...custom, ...ofSaml].flatMap(({ id, key }) => {
    const isRepeated = taken.has(id)
    taken.add(id)
    // Its start URL would be that of the list of providers.
    if (id === 'providers') return [{ key, message: 'is reserved' }]
    return isRepeated ? [{ key, message: 'is the id of another provider already' }] : []
  })
}
