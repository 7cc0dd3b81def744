import { initialUserFaults } from '@parley/accounts'
import { loadConfig, maskSecrets } from '@parley/config'
import { type Command, say } from '../command.ts'

export const checkConfig: Command = {
  name: 'check-config',
  summary: 'Lists every error in the configuration, by key',
  details: `Validates it like the start of a service, including the initial admin, but does not connect to any server. PostgreSQL and Redis
must be configured: only "npm start" has its own.`,
  options: [{ name: 'print', description: 'Shows the whole configuration, without its secrets' }],
  async run({ options, configFlags }) {
    const config = await loadConfig({
      argv: configFlags,
      check: ({ chat }) => initialUserFaults(chat?.initialUser ?? {}),
    })
    say(options.print ? JSON.stringify(maskSecrets(config), null, 2) : 'The configuration is valid.')
  },
}
