/**
 * Preloaded into the processes of a cluster whose database a test provides: each service signs in to PostgreSQL with
 * its own role, as in production. The launcher, which migrates, uses the owner's address.
 */
export {}

const service = /\/services\/(\w+)\/src\/main\.ts$/.exec(process.argv[1] ?? '')?.[1]
const urls = JSON.parse(process.env.TEST_DATABASE_URLS!) as Record<string, string>
// The launcher passes the address on in the variable with the longer name.
if (service && urls[service]) process.env.PARLEY_DATABASE_URL = urls[service]
