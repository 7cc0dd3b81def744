import { loadConfig, maskSecrets } from '@parley/config'
import { type Command, say } from '../command.ts'

export const checkConfig: Command = {
  name: 'check-config',
  summary: 'Tells every fault of the configuration, by key',
  details: 'Judges it as a service does at its start, and connects to nothing.',
  options: [{ name: 'print', description: 'Shows the whole configuration, without its secrets' }],
  async run({ options, configFlags }) {
    const config = await loadConfig({ argv: configFlags })
    say(options.print ? JSON.stringify(maskSecrets(config), null, 2) : 'The configuration has no fault.')
  },
}
