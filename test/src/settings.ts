import { type Config, type DeepPartial, loadConfig } from '@parley/config'

/**
 * A configuration for tests without servers: no server listens at its PostgreSQL and Redis addresses. `settings`
 * overrides it.
 */
export const configWithoutServers = (settings: DeepPartial<Config> = {}): Promise<Config> =>
  loadConfig({
    argv: [],
    env: {},
    cwd: import.meta.dirname,
    defaults: {
      log: { level: 'silent' },
      database: { url: 'postgres://nobody:nothing@127.0.0.1:1/none' },
      redis: { url: 'redis://127.0.0.1:1' },
      ...settings,
      auth: { jwtSecret: 'a secret of at least 32 characters', ...settings.auth },
    },
  })
