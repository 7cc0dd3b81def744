import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { isTree, type Layer, mentions } from './layers.ts'
import { defaultScopes } from './providers.schema.ts'
import { readSamlMetadata } from './saml-metadata.ts'

const presets = ['google', 'microsoft', 'github', 'gitlab'].map((id) => [id, `oauth.presets.${id}`] as const)

/**
 * Fills in keys whose values are derived from other keys, and normalizes accepted spellings. Invalid values stay as
 * they are. A key that is derived from an invalid one gets a placeholder, so that one mistake is reported once.
 */
export function derive(written: Layer, cwd: string): Layer {
  const layer: Layer = new Map(written)
  const read = (key: string) => layer.get(key)?.value
  const fallback = (key: string, value: unknown) => {
    if (!layer.has(key)) layer.set(key, { value })
  }
  const rewrite = <T>(key: string, isMine: (value: unknown) => value is T, change: (value: T) => unknown) => {
    const setting = layer.get(key)
    if (setting && isMine(setting.value)) layer.set(key, { ...setting, value: change(setting.value) })
  }

  rewrite('dataDir', isText, (folder) => (folder === '' ? folder : resolve(cwd, folder)))
  for (const key of ['auth.jwtKeys', 'auth.jwtPublicKeys']) {
    rewrite(key, Array.isArray, (paths) => paths.map((path: unknown) => (isText(path) ? resolve(cwd, path) : path)))
  }
  fallback('database.preparedStatements', read('database.pooler') !== 'transaction')
  fallback('auth.appUrl', validUrl(`http://${browserHost(read('server.host'))}:${read('server.port')}`))
  rewrite('auth.appUrl', isText, (url) => url.replace(/\/+$/, ''))

  const appUrl = validUrl(read('auth.appUrl'))
  fallback('server.allowedOrigins', [new URL(appUrl).origin])

  const callback = (id: unknown) => `${appUrl}/auth/oauth/${id}/callback`
  for (const [id, branch] of presets) {
    if (mentions(layer, branch)) fallback(`${branch}.redirectUri`, callback(id))
  }
  rewrite('oauth.custom', Array.isArray, (providers) =>
    providers.map((provider: unknown) => {
      if (!isTree(provider)) return provider
      const { scopes = defaultScopes, redirectUri = callback(provider.id) } = provider
      return { ...provider, redirectUri, scopes: isText(scopes) ? scopes.split(/\s+/).filter(Boolean) : scopes }
    }),
  )
  rewrite('saml', Array.isArray, (providers) =>
    providers.map((provider: unknown) => (isTree(provider) ? completeSaml(provider, appUrl) : provider)),
  )
  return layer
}

/** Fills in the keys that the provider's metadata has. */
function completeSaml(provider: Record<string, unknown>, appUrl: string) {
  const { metadata } = provider
  const entityId = `${appUrl}/auth/saml/${provider.id}/metadata`
  return { entityId, ...(isText(metadata) && readSamlMetadata(metadata)), ...provider }
}

const validUrl = (url: unknown) =>
  isText(url) && URL.canParse(url) && /^https?:/i.test(url) ? url : 'http://localhost'

const isText = (value: unknown): value is string => typeof value === 'string'

/** The host under which a browser on this machine reaches a server that listens on `host`, as a part of an address. */
export function browserHost(host: unknown): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return isText(host) && isIPv6(host) ? `[${host}]` : String(host)
}
