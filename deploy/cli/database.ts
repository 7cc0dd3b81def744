import type { Config } from '@parley/config'
import { type Connection, connectDatabase } from '@parley/database'

/** Works on the database, and closes the connection whatever happens. A reader of the output may pause for `silenceMs`. */
export async function withDatabase<T>(
  { database }: Config,
  work: (connection: Connection) => Promise<T>,
  silenceMs?: number,
): Promise<T> {
  const connection = connectDatabase({
    url: database.url,
    ca: database.tls.ca,
    poolSize: 2,
    applicationName: 'parley-cli',
    pooler: database.pooler,
    preparedStatements: database.preparedStatements,
    // What needed the connection fails by itself.
    onIdleError: () => {},
    ...(silenceMs !== undefined && { silenceMs }),
  })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}
