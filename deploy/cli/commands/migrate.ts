import { migrate } from '@parley/database'
import { type Command, say } from '../command.ts'
import { withDatabase } from '../database.ts'

export const migrateDatabase: Command = {
  name: 'migrate',
  summary: 'Brings the database to the schema of this version',
  details: 'Safe to repeat and to run by several at once. The services of the version before run on the new schema.',
  options: [],
  async run({ config }) {
    const names = await withDatabase(await config(), ({ db }) => migrate(db))
    for (const name of names) say(`ran ${name}`)
    say(names.length === 0 ? 'The schema is up to date.' : 'The schema is up to date now.')
  },
}
