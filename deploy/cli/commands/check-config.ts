import { initialUserFaults } from '@parley/accounts'
import { loadConfig, maskSecrets } from '@parley/config'
import { type Command, say } from '../command.ts'

export const checkConfig: Command = {
  name: 'check-config',
  summary: 'Tells every fault of the configuration, by key',
  details: `Judges it as a service does at its start, the initial admin as the first start does, and connects to nothing. PostgreSQL and Redis
must be named: only "npm start" brings its own.`,
  options: [{ name: 'print', description: 'Shows the whole configuration, without its secrets' }],
  async run({ options, configFlags }) {
    const config = await loadConfig({
      argv: configFlags,
      judge: ({ chat }) => initialUserFaults(chat?.initialUser ?? {}),
    })
    say(options.print ? JSON.stringify(maskSecrets(config), null, 2) : 'The configuration has no fault.')
  },
}
